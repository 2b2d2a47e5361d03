/* Owns branches: a group at whose block's end the ways part is told further down, on each way, if on one of them it becomes
 * one with a group there. What is looked at before it is known how to go on (a flag, the length of a key) is told together
 * with what is done then. On no way is there one group more than before.
 *
 * Exact, because nothing between the two places ends the window, and a block that only one edge leads to is executed once
 * for each time that it is taken. Where several lead, the edge gets a block of its own. Who is killed, or left by a signal
 * handler's jump, between the two places leaves the first untold. */
#include "hooks/pass/pass.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

using namespace llvm;

namespace profalloc
{

namespace
{

const unsigned depth_max = 3; /* blocks down to the group that is met */

/* What a group's bytes are counted from, the same value for all fields of a struct. */
struct Origin {
    Value *value;
    int64_t offset; /* of the group's pointer */
};

class Sinking
{
  public:
    Sinking(Groups &groups_, Function &function_, Analyses &analyses_);

    void all();

  private:
    Origin origin_of(const Group &group) const;
    Group *partner_of(const Group &group, BasicBlock &block);
    bool may_leave(BasicBlock &block);
    bool meets_behind(const Group &group, BasicBlock &block, unsigned depth);
    void tell_in(const Group &group, BasicBlock &block);
    bool sink(size_t number, BasicBlock &block);

    Groups &groups;
    Function &function;
    Analyses &analyses;
    const DataLayout &layout;
    DenseMap<const BasicBlock *, SmallVector<size_t, 4>> groups_in;
    DenseMap<const BasicBlock *, Instruction *> first_end; /* of a window; NULL: none */
    DenseMap<const BasicBlock *, Instruction *> last_end;
};

Sinking::Sinking(Groups &groups_, Function &function_, Analyses &analyses_)
    : groups(groups_), function(function_), analyses(analyses_), layout(function_.getParent()->getDataLayout())
{
    for (size_t i = 0; i < groups.size(); i++) {
        groups_in[groups[i].at->getParent()].push_back(i);
    }
    for (BasicBlock &block : function) {
        for (Instruction &instruction : block) {
            if (ends_window(instruction)) {
                first_end.try_emplace(&block, &instruction);
                last_end[&block] = &instruction;
            }
        }
    }
}

Origin Sinking::origin_of(const Group &group) const
{
    APInt offset(64, 0);
    Value *value = group.pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
    return {value, offset.getSExtValue()};
}

/* Told by itself, or not known to happen, or not how often: not one of these. */
bool is_plain(const Group &group)
{
    return !group.lone && !group.size && !group.guard && !group.counts && group.pointer->getType()->isPointerTy();
}

/* The group that it becomes one with if it is told in that block. */
Group *Sinking::partner_of(const Group &group, BasicBlock &block)
{
    Origin mine = origin_of(group);
    Instruction *end = first_end.lookup(&block);
    for (size_t number : groups_in[&block]) {
        Group &other = groups[number];
        if (!is_plain(other) || (end && !other.at->comesBefore(end) && other.at != end)) {
            continue;
        }
        Origin its = origin_of(other);
        int64_t low = mine.offset + group.low - its.offset, high = mine.offset + group.high - its.offset;
        if (its.value == mine.value && std::max(high, other.high) - std::min(low, other.low) <= reach_max) {
            return &other;
        }
    }
    return nullptr;
}

/* Is there a place on each way from here, or can it be made? Not on the way back in a loop, which is short. */
bool Sinking::may_leave(BasicBlock &block)
{
    auto *branch = dyn_cast<BranchInst>(block.getTerminator());
    return branch && branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1) &&
           none_of(successors(&block), [&](BasicBlock *next) { return analyses.dominators.dominates(next, &block); });
}

/* Is there a partner behind the block, on one of the ways at least? */
bool Sinking::meets_behind(const Group &group, BasicBlock &block, unsigned depth)
{
    return may_leave(block) && any_of(successors(&block), [&](BasicBlock *next) {
               return next->getSinglePredecessor() &&
                      (partner_of(group, *next) ||
                       (depth > 1 && !last_end.lookup(next) && meets_behind(group, *next, depth - 1)));
           });
}

void Sinking::tell_in(const Group &group, BasicBlock &block)
{
    if (Group *other = partner_of(group, block)) {
        int64_t distance = origin_of(group).offset - origin_of(*other).offset;
        other->low = std::min(other->low, distance + group.low);
        other->high = std::max(other->high, distance + group.high);
        other->reads += group.reads;
        other->writes += group.writes;
        return;
    }
    groups_in[&block].push_back(groups.size());
    groups.push_back(group);
    groups.back().at = &*block.getFirstInsertionPt();
}

bool Sinking::sink(size_t number, BasicBlock &block)
{
    Group group = groups[number];
    Instruction *end = last_end.lookup(&block);
    if (!is_plain(group) || (end && !end->comesBefore(group.at)) || !meets_behind(group, block, depth_max)) {
        return false;
    }
    auto splitting = CriticalEdgeSplittingOptions(&analyses.dominators, &analyses.loops).unsetPreserveLoopSimplify();
    for (unsigned i = 0; i < 2; i++) {
        BasicBlock *next = block.getTerminator()->getSuccessor(i);
        tell_in(group, next->getSinglePredecessor() ? *next : *SplitCriticalEdge(block.getTerminator(), i, splitting));
    }
    return true;
}

void Sinking::all()
{
    SmallVector<bool, 64> gone;
    for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function)) {
        SmallVector<size_t, 4> left;
        SmallVector<size_t, 4> here = groups_in[block];
        gone.resize(groups.size());
        for (size_t number : here) {
            gone[number] = sink(number, *block);
            if (!gone[number]) {
                left.push_back(number);
            }
        }
        groups_in[block] = left;
    }
    gone.resize(groups.size());
    Groups kept;
    for (size_t i = 0; i < groups.size(); i++) {
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
