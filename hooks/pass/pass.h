/* The Clang pass: tells libprofalloc of the accesses to memory that are left in a program when all else is optimised
 * (DESIGN, section 6). Loaded by a stock clang with -fpass-plugin; the only part of hooks that runs in a compiler.
 *
 *   plugin.cpp     the place in the pipeline, options, the order of what follows
 *   lower.cpp      memory intrinsics and library calls take a form in which they are counted once, whatever comes later
 *   find.cpp       the accesses of one instruction; what lies elsewhere than on the heap; what ends a window
 *   group.cpp      accesses that are surely executed together, through one base, become one group
 *   hoist.cpp      groups of a loop become one access to a range, in front of the loop
 *   sink.cpp       groups before a branch become one with groups behind it, and behind a place where ways meet
 *   told.cpp       what one call tells that stands for several ways
 *   emit.cpp       the range check and the call, for each group
 *   callback.cpp   the function that is called, linked in as bitcode
 *
 * Exact means: for every chunk the same sums of reads and writes, and the same lowest and highest byte, as if each access
 * had been told by itself. */
#ifndef PFA_HOOKS_PASS_PASS_H
#define PFA_HOOKS_PASS_PASS_H

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

/* alloc/slice.h, which is C11 alone, has the same two; tests/pass fails where they differ. */
#define PFA_WINDOW_SHIFT 44
#define PFA_WINDOW 3

namespace profalloc
{

struct Options {
    bool map = false; /* for the map of words: only what touches the same bytes is merged, only what is dense hoisted */
    bool across = true; /* merge across blocks: not where cycles are that are no loops */
    bool merge = true;  /* the others are for tests and measurements */
    bool hoist = true;
    bool sink = true;
    bool anywhere = false;  /* compare with the view, not with the window (hooks/access/view.h) */
    bool share_view = true; /* else each check loads the view by itself */
    bool verify = false;    /* end the compiler if what was made is not valid */
};

/* Something an instruction reads or writes and that may be on the heap. */
struct Access {
    llvm::Value *pointer; /* or the address as an integer */
    uint64_t bytes;       /* 0: `size` */
    unsigned reads, writes;
    bool lone = false;            /* volatile or atomic: told where it happens, by itself */
    llvm::Value *size = nullptr;  /* known when the program runs; not 0 if */
    llvm::Value *guard = nullptr; /* this is true, or NULL; else it does not happen */
};
using Accesses = llvm::SmallVector<Access, 2>;

/* What lower.cpp knows better than the instruction looks: none, for what is counted with another or in a library call. */
using Known = llvm::DenseMap<const llvm::Instruction *, Accesses>;

/* One call to be made, at one place. */
struct Group {
    llvm::Instruction *at; /* in front of this one: the first of the accesses, or where hoist or sink put it */
    llvm::Value *pointer;  /* of the first; */
    int64_t low, high;     /* the bytes touched, from there */
    unsigned reads, writes;
    bool lone;
    llvm::Value *size;             /* if not high - low, and */
    llvm::Value *guard;            /* as in Access */
    llvm::Value *counts = nullptr; /* of hoisted and of joined ones, else reads and writes */
    /* Where it depends on the way that was taken (sink.cpp): from 0 to near_max, not low; and not high - low - 1. */
    llvm::Value *distance = nullptr, *last = nullptr;
};
using Groups = llvm::SmallVector<Group, 32>;
const int64_t reach_max = 1 << 20; /* of one group, in bytes */
const int64_t near_max = 32768;    /* bytes that the window surely has more of behind any chunk */
const size_t groups_max = 4096;    /* of a function: from there on no further ones are joined, which takes time */

/* What a group's bytes are counted from without a calculation: a struct, for all of its fields. */
struct Origin {
    llvm::Value *value;
    int64_t offset; /* of the group's pointer */
};
Origin origin_of(const Group &group, const llvm::DataLayout &layout);

struct Analyses {
    llvm::DominatorTree &dominators;
    llvm::PostDominatorTree &post_dominators;
    llvm::LoopInfo &loops;
    llvm::ScalarEvolution &scev;
    const llvm::TargetTransformInfo &target;
};

/* Changes instructions, but no block. */
void lower(llvm::Function &function, const llvm::TargetTransformInfo &target, Known &known);

/* Does the instruction end the time in which accesses before it and after it are the same: may it free, allocate,
 * synchronise, or not come back? */
bool ends_window(const llvm::Instruction &instruction);
bool is_memory_function(llvm::StringRef name); /* of libc, and wrapped when the program is linked */
bool may_be_heap(const llvm::Value *pointer);
Accesses find_accesses(llvm::Instruction &instruction, const Known &known);

/* The groups of all reachable blocks, a block's in order. */
Groups find_groups(llvm::Function &function, Analyses &analyses, const Known &known, const Options &options);

/* Moves groups in front of loops and behind them, where it inserts instructions; may append some. Changes no block. */
void hoist(Groups &groups, Analyses &analyses, const Options &options);

/* Moves groups down, on all ways from where they stand; may leave some away and append some. Adds blocks, which dominators
 * and loops know; what else was known of blocks is void. */
void sink(Groups &groups, llvm::Function &function, Analyses &analyses);

/* Splits blocks: what was known of them before is void. */
void emit(Groups &groups, llvm::Function &function, Analyses &analyses, const Options &options);

/* Is there one for what the module is compiled for? */
bool has_callback(const llvm::Module &module);
/* Two words of the module's view: base and span. */
llvm::GlobalVariable *view_of(llvm::Module &module);
/* PFA_ADDRESS_USUAL_BIT (base/compiler.h) of what it is compiled for. */
uint64_t usual_bit_of(const llvm::Module &module);
/* The function to be called with an address, the distance of the last byte from it, and counts; its call must be like it. */
llvm::Function *callback_of(llvm::Module &module);
/* Lets the module say that accesses were merged: hooks/access/module.c looks for that. */
void mark_merged(llvm::Module &module);
/* Gives it a body where it has been called. */
void link_callback(llvm::Module &module);

} // namespace profalloc

#endif
