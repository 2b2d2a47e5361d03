/* Owns branches and the places where ways meet. A group at whose block's end the ways part is told further down, on each way,
 * if on one of them it becomes one with a group there: what is looked at before it is known how to go on (a flag, the length
 * of a key) is told together with what is done then. Where ways meet, a group takes in what comes to it on some of them, and
 * groups that come on each go on as one: what the call tells then depends on the way that was taken (told.h).
 *
 * On no way is there one group more than before. Exact, because nothing between the two places ends the window, a block that
 * only one edge leads to is executed once for each time that it is taken (where several lead, the edge gets a block of its
 * own), and so is a block once for each time that one of its edges is. Who is killed, or left by a signal handler's jump,
 * between the two places leaves the first untold. */
#include "hooks/pass/told.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

using namespace llvm;

namespace profalloc
{

namespace
{

const unsigned depth_max = 4; /* blocks down to the group that is met */
const size_t ways_max = 8;    /* that meet in one block */

class Sinking
{
  public:
    Sinking(Groups &groups_, Function &function_, Analyses &analyses_);

    void all();

  private:
    /* A group, as it is told at another place. */
    struct Moved {
        Value *origin;
        const Told *told;
    };

    bool is_open_at_start(size_t number);
    bool is_open_at_end(size_t number);
    size_t first_in(const BasicBlock &block, const Moved &moved);
    size_t coming_from(const BasicBlock &block, const Value *origin);
    bool may_leave(BasicBlock &block);
    bool may_meet_in(BasicBlock &block);
    bool meets_behind(const Moved &moved, BasicBlock &block, unsigned depth);
    void tell_in(const Moved &moved, BasicBlock &block);
    bool sink(size_t number, BasicBlock &block);
    void remove(size_t number);
    void join_own(size_t number, BasicBlock &block, ArrayRef<BasicBlock *> before);
    void join_all(Value *origin, BasicBlock &block, ArrayRef<BasicBlock *> before);
    void join(BasicBlock &block);

    Groups &groups;
    Function &function;
    Analyses &analyses;
    const DataLayout &layout;
    Telling telling;
    /* Of each group: */
    SmallVector<Origin, 32> origins;
    SmallVector<const Told *, 32> told;
    SmallVector<bool, 32> gone;
    DenseMap<const BasicBlock *, SmallVector<size_t, 4>> groups_in;
    DenseMap<const BasicBlock *, Instruction *> first_end; /* of a window; NULL: none */
    DenseMap<const BasicBlock *, Instruction *> last_end;
    DenseMap<const BasicBlock *, size_t> turns; /* from 1; blocks of edges have none, they come before */
};

const size_t none = SIZE_MAX;

/* Told by itself, or not known to happen, or not how often: not one of these. */
bool is_plain(const Group &group)
{
    return !group.lone && !group.size && !group.guard && !group.counts && group.pointer->getType()->isPointerTy();
}

Sinking::Sinking(Groups &groups_, Function &function_, Analyses &analyses_)
    : groups(groups_), function(function_), analyses(analyses_), layout(function_.getParent()->getDataLayout())
{
    for (size_t i = 0; i < groups.size(); i++) {
        const Group &group = groups[i];
        Origin origin = origin_of(group, layout);
        origins.push_back(origin);
        int64_t low = int64_t(uint64_t(origin.offset) + uint64_t(group.low));
        told.push_back(telling.leaf(low, low + (group.high - group.low), group.reads, group.writes));
        if (is_plain(group)) {
            groups_in[group.at->getParent()].push_back(i);
        }
    }
    gone.resize(groups.size());
    for (BasicBlock &block : function) {
        for (Instruction &instruction : block) {
            if (ends_window(instruction)) {
                first_end.try_emplace(&block, &instruction);
                last_end[&block] = &instruction;
            }
        }
    }
}

/* Does nothing end the window between its block's start and the group? */
bool Sinking::is_open_at_start(size_t number)
{
    Instruction *at = groups[number].at;
    Instruction *end = first_end.lookup(at->getParent());
    return !end || at == end || at->comesBefore(end);
}

bool Sinking::is_open_at_end(size_t number)
{
    Instruction *at = groups[number].at;
    Instruction *end = last_end.lookup(at->getParent());
    return !end || end->comesBefore(at);
}

/* The group that it becomes one with if it comes into that block. */
size_t Sinking::first_in(const BasicBlock &block, const Moved &moved)
{
    for (size_t number : groups_in[&block]) {
        if (origins[number].value == moved.origin && is_open_at_start(number) &&
            telling.may_sum(*told[number], *moved.told)) {
            return number;
        }
    }
    return none;
}

/* One that may leave the block, which leads to one other alone. */
size_t Sinking::coming_from(const BasicBlock &block, const Value *origin)
{
    if (!block.getSingleSuccessor()) {
        return none;
    }
    for (size_t number : groups_in[&block]) {
        if (origins[number].value == origin && is_open_at_end(number)) {
            return number;
        }
    }
    return none;
}

/* Is there a place on each way from here, or can it be made? Not on the way back in a loop, which is short. */
bool Sinking::may_leave(BasicBlock &block)
{
    auto *branch = dyn_cast<BranchInst>(block.getTerminator());
    return branch && (!branch->isConditional() || branch->getSuccessor(0) != branch->getSuccessor(1)) &&
           none_of(successors(&block), [&](BasicBlock *next) { return analyses.dominators.dominates(next, &block); });
}

/* Not where a way comes back to, as to a loop's head. */
bool Sinking::may_meet_in(BasicBlock &block)
{
    return block.hasNPredecessorsOrMore(2) && !block.hasNPredecessorsOrMore(ways_max + 1) &&
           none_of(predecessors(&block), [&](BasicBlock *from) { return turns.lookup(from) >= turns.lookup(&block); });
}

/* Is there a group behind the block that it becomes one with, on one of the ways at least? */
bool Sinking::meets_behind(const Moved &moved, BasicBlock &block, unsigned depth)
{
    return may_leave(block) && any_of(successors(&block), [&](BasicBlock *next) {
               size_t first = first_in(*next, moved);
               if (first != none) {
                   return next->getSinglePredecessor() ||
                          (may_meet_in(*next) && telling.may_meet(*told[first], *moved.told));
               }
               return depth > 1 && next->getSinglePredecessor() && !last_end.lookup(next) &&
                      meets_behind(moved, *next, depth - 1);
           });
}

void Sinking::tell_in(const Moved &moved, BasicBlock &block)
{
    size_t other = first_in(block, moved);
    if (other != none) {
        told[other] = telling.sum(*told[other], *moved.told);
        return;
    }
    groups_in[&block].push_back(groups.size());
    groups.push_back({&*block.getFirstInsertionPt(), moved.origin, 0, 0, 0, 0, false, nullptr, nullptr});
    origins.push_back({moved.origin, 0});
    told.push_back(moved.told);
    gone.push_back(false);
}

/* Tells it on each way behind the block, if that saves a call. */
bool Sinking::sink(size_t number, BasicBlock &block)
{
    Moved moved = {origins[number].value, told[number]};
    auto *branch = dyn_cast<BranchInst>(block.getTerminator());
    if (!branch || !branch->isConditional() || !is_open_at_end(number) || !meets_behind(moved, block, depth_max)) {
        return false;
    }
    auto splitting = CriticalEdgeSplittingOptions(&analyses.dominators, &analyses.loops).unsetPreserveLoopSimplify();
    for (unsigned i = 0; i < 2; i++) {
        BasicBlock *next = branch->getSuccessor(i);
        tell_in(moved, next->getSinglePredecessor() ? *next : *SplitCriticalEdge(branch, i, splitting));
    }
    return true;
}

void Sinking::remove(size_t number)
{
    auto &numbers = groups_in[groups[number].at->getParent()];
    numbers.erase(find(numbers, number));
    gone[number] = true;
}

/* A group of the block takes in what comes to it on the ways that meet there. */
void Sinking::join_own(size_t number, BasicBlock &block, ArrayRef<BasicBlock *> before)
{
    if (!is_open_at_start(number)) {
        return;
    }
    SmallVector<const Told *, 4> ways;
    SmallVector<size_t, 4> arrived;
    for (BasicBlock *from : before) {
        size_t other = coming_from(*from, origins[number].value);
        const Told *both = other != none ? telling.sum(*told[other], *told[number]) : nullptr;
        ways.push_back(both ? both : told[number]);
        if (both) {
            arrived.push_back(other);
        }
    }
    const Told *all = arrived.empty() ? nullptr : telling.meeting(block, before, ways);
    if (all) {
        told[number] = all;
        for_each(arrived, [&](size_t other) { remove(other); });
    }
}

/* What comes on each of the ways goes on as one, if that is met behind. */
void Sinking::join_all(Value *origin, BasicBlock &block, ArrayRef<BasicBlock *> before)
{
    SmallVector<const Told *, 4> ways;
    SmallVector<size_t, 4> arrived;
    for (BasicBlock *from : before) {
        size_t other = coming_from(*from, origin);
        if (other == none) {
            return;
        }
        ways.push_back(told[other]);
        arrived.push_back(other);
    }
    const Told *all = telling.meeting(block, before, ways);
    if (all && meets_behind({origin, all}, block, depth_max)) {
        for_each(arrived, [&](size_t other) { remove(other); });
        tell_in({origin, all}, block);
    }
}

void Sinking::join(BasicBlock &block)
{
    if (!may_meet_in(block)) {
        return;
    }
    SmallVector<BasicBlock *, 4> before(predecessors(&block));
    SmallVector<size_t, 4> own = groups_in[&block];
    for (size_t number : own) {
        join_own(number, block, before);
    }
    if (last_end.lookup(&block)) {
        return;
    }
    SmallSetVector<Value *, 4> coming;
    for (size_t number : groups_in[before[0]]) {
        coming.insert(origins[number].value);
    }
    for (Value *origin : coming) {
        join_all(origin, block, before);
    }
}

void Sinking::all()
{
    ReversePostOrderTraversal<Function *> order(&function);
    size_t turn = 0;
    for (BasicBlock *block : order) {
        turns[block] = ++turn;
    }
    for (BasicBlock *block : order) {
        join(*block);
        SmallVector<size_t, 4> here = groups_in[block];
        for (size_t number : here) {
            if (sink(number, *block)) {
                remove(number);
            }
        }
    }
    Groups kept;
    for (size_t i = 0; i < groups.size(); i++) {
        if (is_plain(groups[i]) && !gone[i]) {
            telling.write(groups[i], *told[i], origins[i]);
        }
        if (!gone[i]) {
            kept.push_back(groups[i]);
        }
    }
    groups = std::move(kept);
}

} // namespace

void sink(Groups &groups, Function &function, Analyses &analyses)
{
    Sinking(groups, function, analyses).all();
}

} // namespace profalloc
