/* What one call tells that stands for several ways: which bytes, and how many accesses, is known for each way that leads to
 * a block, and differs. A tree of constants, so that more can be added to all ways at once; in the program it becomes phis. */
#ifndef PFA_HOOKS_PASS_TOLD_H
#define PFA_HOOKS_PASS_TOLD_H

#include "hooks/pass/pass.h"

#include <deque>

namespace profalloc
{

struct Told {
    int64_t low, high;      /* the bytes touched, from the origin; of a tree, those of all ways */
    unsigned reads, writes; /* of a leaf */
    llvm::BasicBlock *join; /* where the ways meet; NULL: a leaf */
    llvm::SmallVector<llvm::BasicBlock *, 4> from;
    llvm::SmallVector<const Told *, 4> ways; /* of each block in `from` */
    unsigned leaves;                         /* different ones */
};

class Telling
{
  public:
    const Told *leaf(int64_t low, int64_t high, unsigned reads, unsigned writes);
    /* Of both; NULL if they do not fit together. */
    const Told *sum(const Told &one, const Told &other);
    bool may_sum(const Told &one, const Told &other) const;
    /* May they be told of different ways that meet? */
    bool may_meet(const Told &one, const Told &other) const;
    /* Of one of the ways that lead to the block, each from a block of `from`; NULL if it is too much. */
    const Told *meeting(llvm::BasicBlock &join, llvm::ArrayRef<llvm::BasicBlock *> from,
                        llvm::ArrayRef<const Told *> ways);
    /* Lets the group tell it. Adds phis. */
    void write(Group &group, const Told &told, const Origin &origin);

  private:
    enum Part { LOW, LAST, COUNTS };
    const Told *plus(const Told &told, const Told &leaf);
    llvm::Value *value_of(const Told &told, Part part, llvm::Type *word);

    std::deque<Told> all; /* none moves */
    llvm::DenseMap<std::pair<const Told *, const Told *>, const Told *> sums;
    llvm::DenseMap<std::pair<const Told *, unsigned>, llvm::Value *> values;
};

} // namespace profalloc

#endif
