/* Owns loops: a group whose address runs in equal steps through an innermost loop without a window's end becomes one range,
 * with the counts of all turns: in front of the loop if it is known there how many there will be, else behind each of its
 * exits, with a count of turns of our own (a search: through a text, say, for its first blank).
 *
 * Exact, because the group's block is executed in each turn. A turn that leaves the loop has executed it if it comes before
 * the block that leaves; else that turn does not count. That addresses do not wrap follows from their all being accessed:
 * no program maps a whole address space. Who leaves such a loop by a signal handler's jump, or is killed in it, leaves what
 * it did so far untold. */
#include "hooks/pass/pass.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

using namespace llvm;

namespace profalloc
{

namespace
{

/* What a full counter says (hooks/access): loops of more turns are told as this many. */
const uint64_t turns_max = INT32_MAX;
const int64_t step_max = int64_t(1) << 32; /* so that a wrap would have to touch what no program maps */

/* Code at more exits is not worth it. */
const size_t exits_max = 4;

/* The addresses of a group: each turn's is `step` further than the last's. */
struct Run {
    const SCEV *first;
    int64_t step;
};

class Hoisting
{
  public:
    Hoisting(Loop &loop_, Analyses &analyses_, const Options &options_, const DataLayout &layout)
        : loop(loop_), analyses(analyses_), options(options_), scev(analyses_.scev), expander(scev, layout, "profalloc")
    {
    }

    bool possible();
    /* Groups that come in addition are appended to `more`. */
    void move(Group &group, Groups &more);

  private:
    bool can_expand(const SCEV *expression)
    {
#if LLVM_VERSION_MAJOR >= 15
        return expander.isSafeToExpandAt(expression, place);
#else
        return isSafeToExpandAt(expression, place, scev);
#endif
    }
    Value *number(const SCEV *expression);
    Value *turns(bool behind_exit);
    Value *turns_so_far();
    Value *counts(const Group &group, Value *turns, IRBuilder<> &builder);
    bool runs(const Group &group, Run &run);
    void tell(Group &group, int64_t step, Value *first, Value *times, bool may_be_none, Instruction *at);
    void move_ahead(Group &group, const Run &run);
    void move_behind(Group &group, const Run &run, Groups &more);

    Loop &loop;
    Analyses &analyses;
    const Options &options;
    ScalarEvolution &scev;
    SCEVExpander expander;
    Instruction *place = nullptr; /* the end of the preheader */
    BasicBlock *exiting = nullptr;
    const SCEV *goes_back = nullptr; /* how often, if it can be known ahead */
    Value *all_turns[2] = {};
    Value *counter = nullptr;
    SmallVector<BasicBlock *, 4> exits; /* if it cannot */
};

bool Hoisting::possible()
{
    BasicBlock *preheader = loop.getLoopPreheader();
    if (!loop.isInnermost() || !preheader || !loop.getLoopLatch() ||
        any_of(loop.blocks(), [](BasicBlock *block) { return any_of(*block, ends_window); })) {
        return false;
    }
    place = preheader->getTerminator();
    exiting = loop.getExitingBlock();
    const SCEV *known = exiting ? scev.getBackedgeTakenCount(&loop) : scev.getCouldNotCompute();
    if (!isa<SCEVCouldNotCompute>(known) && known->getType()->isIntegerTy() &&
        scev.getTypeSizeInBits(known->getType()) <= 64 && can_expand(known) &&
        analyses.dominators.dominates(exiting, loop.getLoopLatch())) {
        goes_back = known;
        return true;
    }
    loop.getUniqueExitBlocks(exits);
    return loop.hasDedicatedExits() && exits.size() <= exits_max &&
           none_of(exits, [](BasicBlock *exit) { return exit->isEHPad(); });
}

Value *Hoisting::number(const SCEV *expression)
{
    Type *word = Type::getInt64Ty(place->getContext());
    Value *value = expander.expandCodeFor(expression, expression->getType(), place);
    return expression->getType()->isPointerTy() ? IRBuilder<>(place).CreatePtrToInt(value, word) : value;
}

Value *Hoisting::turns(bool behind_exit)
{
    Value *&value = all_turns[behind_exit];
    if (!value) {
        Type *word = Type::getInt64Ty(place->getContext());
        const SCEV *wide = scev.getNoopOrZeroExtend(goes_back, word);
        Value *times = expander.expandCodeFor(wide, word, place);
        value = behind_exit ? times : IRBuilder<>(place).CreateAdd(times, ConstantInt::get(word, 1));
    }
    return value;
}

/* How often the loop has gone back, wherever it is left. */
Value *Hoisting::turns_so_far()
{
    if (!counter) {
        Type *word = Type::getInt64Ty(place->getContext());
        BasicBlock *latch = loop.getLoopLatch();
        PHINode *phi = PHINode::Create(word, 2, "profalloc.turns", &loop.getHeader()->front());
        Value *next = IRBuilder<>(latch->getTerminator()).CreateAdd(phi, ConstantInt::get(word, 1));
        phi->addIncoming(ConstantInt::get(word, 0), place->getParent());
        phi->addIncoming(next, latch);
        counter = phi;
    }
    return counter;
}

Value *Hoisting::counts(const Group &group, Value *times, IRBuilder<> &builder)
{
    uint64_t limit = turns_max / std::max({group.reads, group.writes, 1u});
    if (goes_back && scev.getUnsignedRangeMax(goes_back).ult(limit)) {
        return builder.CreateMul(times, builder.getInt64(uint64_t(group.writes) << 32 | group.reads));
    }
    /* Each half by itself: one that would be more than a counter holds makes it full, and leaves the other alone. */
    auto half = [&](uint64_t each) {
        uint64_t enough = each == 0 ? 0 : turns_max / each + 1;
        Value *most = builder.getInt64(turns_max);
        Value *fits = builder.CreateICmpULT(times, builder.getInt64(enough));
        Value *product = builder.CreateMul(times, builder.getInt64(each));
        return each == 0 ? builder.getInt64(0) : builder.CreateSelect(fits, product, most);
    };
    Value *reads = half(group.reads);
    return builder.CreateOr(reads, builder.CreateShl(half(group.writes), 32));
}

bool Hoisting::runs(const Group &group, Run &run)
{
    if (group.lone || group.size || group.guard ||
        !analyses.dominators.dominates(group.at->getParent(), loop.getLoopLatch())) {
        return false;
    }
    const SCEV *address =
        scev.getAddExpr(scev.getSCEV(group.pointer),
                        scev.getConstant(Type::getInt64Ty(place->getContext()), uint64_t(group.low), true));
    int64_t bytes = group.high - group.low;
    int64_t step = 0;
    if (auto *recurrence = dyn_cast<SCEVAddRecExpr>(address)) {
        auto *constant = recurrence->getLoop() == &loop && recurrence->isAffine()
                             ? dyn_cast<SCEVConstant>(recurrence->getOperand(1))
                             : nullptr;
        if (recurrence->getLoop() == &loop) {
            if (!constant || constant->getAPInt().getSignificantBits() > 63) {
                return false;
            }
            step = constant->getAPInt().getSExtValue();
            address = recurrence->getStart();
        }
    }
    bool dense = step == 0 || step == bytes || step == -bytes;
    run = {address, step};
    return scev.isLoopInvariant(address, &loop) && can_expand(address) && std::abs(step) <= step_max &&
           (!options.map || dense);
}

/* Makes the group one of so many turns. */
void Hoisting::tell(Group &group, int64_t step, Value *first, Value *times, bool may_be_none, Instruction *at)
{
    IRBuilder<> builder(at);
    Value *extent =
        builder.CreateMul(builder.CreateSub(times, builder.getInt64(1)), builder.getInt64(uint64_t(std::abs(step))));
    group.pointer = step < 0 ? builder.CreateSub(first, extent) : first;
    group.size = builder.CreateAdd(extent, builder.getInt64(uint64_t(group.high - group.low)));
    group.guard = may_be_none ? builder.CreateIsNotNull(times) : nullptr;
    group.counts = counts(group, times, builder);
    group.low = group.high = 0;
    group.at = at;
}

void Hoisting::move_ahead(Group &group, const Run &run)
{
    bool behind_exit = !analyses.dominators.dominates(group.at->getParent(), exiting);
    Value *times = turns(behind_exit);
    tell(group, run.step, number(run.first), times, behind_exit, place);
}

void Hoisting::move_behind(Group &group, const Run &run, Groups &more)
{
    Value *first = number(run.first);
    const Group original = group;
    BasicBlock *block = group.at->getParent();
    for (BasicBlock *exit : exits) {
        /* Was it executed in the last turn, by where that was left? */
        Type *word = Type::getInt64Ty(place->getContext());
        PHINode *last = PHINode::Create(word, 2, "profalloc.last", &exit->front());
        bool may_be_none = false;
        for (BasicBlock *leaving : predecessors(exit)) {
            bool executed = analyses.dominators.dominates(block, leaving);
            last->addIncoming(ConstantInt::get(word, executed ? 1 : 0), leaving);
            may_be_none |= !executed;
        }
        Instruction *at = &*exit->getFirstInsertionPt();
        Value *times = IRBuilder<>(at).CreateAdd(turns_so_far(), last);
        Group told = original;
        tell(told, run.step, first, times, may_be_none, at);
        if (exit == exits.front()) {
            group = told;
        } else {
            more.push_back(told);
        }
    }
}

void Hoisting::move(Group &group, Groups &more)
{
    Run run;
    if (!runs(group, run)) {
        return;
    }
    if (goes_back) {
        move_ahead(group, run);
    } else if (!exits.empty()) {
        move_behind(group, run, more);
    }
}

} // namespace

void hoist(Groups &groups, Analyses &analyses, const Options &options)
{
    DenseMap<Loop *, SmallVector<Group *, 4>> of_loops;
    SmallVector<Loop *, 8> order; /* of a map, it would differ from run to run */
    for (Group &group : groups) {
        Loop *loop = analyses.loops.getLoopFor(group.at->getParent());
        if (loop && loop->isInnermost()) {
            auto &members = of_loops[loop];
            if (members.empty()) {
                order.push_back(loop);
            }
            members.push_back(&group);
        }
    }
    Groups more;
    for (Loop *loop : order) {
        Hoisting hoisting(*loop, analyses, options, loop->getHeader()->getModule()->getDataLayout());
        if (!hoisting.possible()) {
            continue;
        }
        for (Group *group : of_loops[loop]) {
            hoisting.move(*group, more);
        }
    }
    groups.append(more.begin(), more.end());
}

} // namespace profalloc
