/* Owns the search for types in debug information: all units of a module, entered where types can be declared. See
 * analyze/names/dwarf.h. Part of the use of elfutils, like analyze/names/dwarf.c. */
#include "analyze/names/dwarf.h"
#include "analyze/base/memory.h"
#include "analyze/names/dwarf_scopes.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <string.h>

/* The scopes around the entry that is looked at, each with "::" behind. */
typedef struct scope {
    char *text;
    size_t size;
    size_t room;
} scope_t;

typedef struct looking {
    pfa_dwarf_type_visit_t *visit;
    void *to;
    uint64_t *left;
    const char *
        seen; /* where the last entry of the unit that was looked at is in memory; see collect() of dwarf_functions.c */
    scope_t scope;
    pfa_dwarf_scopes_t scopes; /* of a unit that declares a type which is defined elsewhere */
} looking_t;

static void push(scope_t *scope, const char *name)
{
    size_t length = strlen(name);
    scope->text = pfa_memory_grow(scope->text, &scope->room, scope->size + length + 3, 1);
    memcpy(scope->text + scope->size, name, length);
    memcpy(scope->text + scope->size + length, "::", 3);
    scope->size += length + 2;
}

static void cut(scope_t *scope, size_t size)
{
    scope->size = size;
    if (scope->text != NULL) {
        scope->text[size] = '\0';
    }
}

static bool is_record(int tag)
{
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* A type with a unit of its own (-fdebug-types-section) is told elsewhere by a signature, maybe without its name. */
static bool find_unit(Dwarf_Die *die, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    return dwarf_formref_die(dwarf_attr(die, DW_AT_signature, &attribute), unit) != NULL;
}

/* What a namespace or type is called as a scope; NULL: it is none. */
static const char *scope_name(Dwarf_Die *die)
{
    const char *name = dwarf_diename(die);
    Dwarf_Die unit;
    int tag = dwarf_tag(die);
    if (tag == DW_TAG_namespace) {
        return name != NULL ? name : "(anonymous namespace)";
    }
    if (!is_record(tag)) {
        return NULL;
    }
    return name != NULL || !find_unit(die, &unit) ? name : dwarf_diename(&unit);
}

/* A nested type that is defined elsewhere than it is declared has its scopes there. */
static void push_declared(looking_t *looking, scope_t *scope, Dwarf_Die *declaration)
{
    uint32_t around[PFA_SCOPES_DEEPEST + 1];
    unsigned count = 0;
    uint32_t number = pfa_dwarf_scopes_find(&looking->scopes, declaration, looking->left);
    while (number != PFA_SCOPE_NONE && (number = looking->scopes.list[number].around) != PFA_SCOPE_NONE) {
        around[count++] = number;
    }
    while (count-- > 0) {
        const char *name = scope_name(&looking->scopes.list[around[count]].entry);
        if (name != NULL) {
            push(scope, name);
        }
    }
}

static void tell(looking_t *looking, Dwarf_Die *die, const char *name, uint64_t size, bool record)
{
    Dwarf_Attribute attribute;
    Dwarf_Die declaration;
    scope_t elsewhere = {.text = NULL};
    bool declared = dwarf_formref_die(dwarf_attr(die, DW_AT_specification, &attribute), &declaration) != NULL;
    scope_t *scope = declared ? &elsewhere : &looking->scope;
    if (declared) {
        push_declared(looking, scope, &declaration);
    }
    size_t outer = scope->size;
    push(scope, name);
    scope->text[scope->size - 2] = '\0';
    looking->visit(looking->to, scope->text, size, record);
    cut(scope, outer);
    pfa_memory_free(elsewhere.text);
}

static bool is_declaration(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    bool flag = false;
    return dwarf_formflag(dwarf_attr(die, DW_AT_declaration, &attribute), &flag) == 0 && flag;
}

/* What a typedef stands for in the end. */
static bool find_plain(Dwarf_Die *die, Dwarf_Die *plain)
{
    Dwarf_Die unit;
    if (dwarf_peel_type(die, plain) != 0) {
        return false;
    }
    if (find_unit(plain, &unit)) {
        *plain = unit;
    }
    return true;
}

static void look_at_type(looking_t *looking, Dwarf_Die *die)
{
    const char *name = dwarf_diename(die);
    Dwarf_Die plain;
    Dwarf_Word size;
    if (name == NULL || is_declaration(die) || !find_plain(die, &plain) || dwarf_aggregate_size(&plain, &size) != 0) {
        return;
    }
    tell(looking, die, name, size, is_record(dwarf_tag(&plain)));
}

/* False: what may be looked at is used up. */
static bool look_into(looking_t *looking, Dwarf_Die *around, unsigned depth)
{
    Dwarf_Die die;
    if (depth > PFA_SCOPES_DEEPEST || dwarf_child(around, &die) != 0) {
        return true;
    }
    do {
        int tag = dwarf_tag(&die);
        if ((const char *)die.addr <= looking->seen) {
            return true;
        }
        if (*looking->left == 0) {
            return false;
        }
        looking->seen = die.addr;
        --*looking->left;
        if (is_record(tag) || tag == DW_TAG_typedef) {
            look_at_type(looking, &die);
        }
        if (pfa_dwarf_may_have_types(tag)) {
            size_t outer = looking->scope.size;
            const char *name = scope_name(&die);
            if (name != NULL) {
                push(&looking->scope, name);
            }
            bool fine = look_into(looking, &die, depth + 1);
            cut(&looking->scope, outer);
            if (!fine) {
                return false;
            }
        }
    } while (dwarf_siblingof(&die, &die) == 0);
    return true;
}

static bool look_at_units(looking_t *looking, Dwarf *dwarf)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die top;
    Dwarf_Die split;
    while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &top, &split) == 0) {
        bool elsewhere = dwarf_tag(&split) != DW_TAG_invalid && dwarf_tag(&top) == DW_TAG_skeleton_unit;
        Dwarf_Die *entry = elsewhere ? &split : &top;
        looking->seen = entry->addr;
        if (!look_into(looking, entry, 0)) {
            return false;
        }
    }
    return true;
}

bool pfa_dwarf_types(pfa_dwarf_t *dwarf, pfa_dwarf_type_visit_t *visit, void *to, uint64_t *left)
{
    looking_t looking = {.visit = visit, .to = to, .left = left};
    Dwarf_Addr bias;
    Dwarf *information = dwfl_module_getdwarf(pfa_dwarf_module(dwarf), &bias);
    bool all = information == NULL || look_at_units(&looking, information);
    Dwarf *shared = information != NULL ? dwarf_getalt(information) : NULL; /* what dwz took out of several */
    all = all && (shared == NULL || look_at_units(&looking, shared));
    pfa_memory_free(looking.scope.text);
    pfa_dwarf_scopes_free(&looking.scopes);
    return all;
}
