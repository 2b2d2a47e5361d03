/* Files that get their name once they are whole. */
#ifndef PFA_ANALYZE_BASE_NEWFILE_H
#define PFA_ANALYZE_BASE_NEWFILE_H

/* Opens a new file beside `path`, with the permissions that any new file gets here, and another name, which goes to *part; the caller frees it,
 * and renames or removes the file. -1: it cannot be made, errno says why, and *part is NULL. */
int pfa_newfile_open(const char *path, char **part);

#endif
