/* Owns loops: a group whose address runs in equal steps through an innermost loop without a window's end becomes one range
 * in front of it, with the counts of all its turns.
 *
 * Exact, because the loop has one exit and a number of turns that is known when it is entered, and the group's block is
 * executed in each (up to the exit block once more than the loop goes back, behind it as often). That addresses do not
 * wrap follows from their all being accessed: no program maps a whole address space. */
#include "hooks/pass/pass.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

using namespace llvm;

namespace profalloc
{

namespace
{

/* Each half of the counts stays below the bit that makes a sum of two unusual (hooks/access). Loops of more turns are
 * told as this many. */
const uint64_t turns_max = INT32_MAX;
const int64_t step_max = int64_t(1) << 32; /* so that a wrap would have to touch what no program maps */

class Hoisting
{
  public:
    Hoisting(Loop &loop_, Analyses &analyses_, const Options &options_, const DataLayout &layout)
        : loop(loop_), analyses(analyses_), options(options_), scev(analyses_.scev), expander(scev, layout, "profalloc")
    {
    }

    bool possible();
    void move(Group &group);

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
    Value *counts(Group &group, Value *turns);

    Loop &loop;
    Analyses &analyses;
    const Options &options;
    ScalarEvolution &scev;
    SCEVExpander expander;
    Instruction *place = nullptr; /* the end of the preheader */
    BasicBlock *exiting = nullptr;
    const SCEV *goes_back = nullptr; /* how often */
    Value *all_turns[2] = {};
};

bool Hoisting::possible()
{
    BasicBlock *preheader = loop.getLoopPreheader();
    exiting = loop.getExitingBlock();
    if (!loop.isInnermost() || !preheader || !exiting || !loop.getLoopLatch() ||
        any_of(loop.blocks(), [](BasicBlock *block) { return any_of(*block, ends_window); })) {
        return false;
    }
    place = preheader->getTerminator();
    goes_back = scev.getBackedgeTakenCount(&loop);
    return !isa<SCEVCouldNotCompute>(goes_back) && goes_back->getType()->isIntegerTy() &&
           scev.getTypeSizeInBits(goes_back->getType()) <= 64 && can_expand(goes_back) &&
           analyses.dominators.dominates(exiting, loop.getLoopLatch());
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

Value *Hoisting::counts(Group &group, Value *times)
{
    IRBuilder<> builder(place);
    uint64_t limit = turns_max / std::max({group.reads, group.writes, 1u});
    if (scev.getUnsignedRangeMax(goes_back).ult(limit)) {
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

void Hoisting::move(Group &group)
{
    BasicBlock *block = group.at->getParent();
    if (group.lone || group.size || group.guard || !analyses.dominators.dominates(block, loop.getLoopLatch())) {
        return;
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
                return;
            }
            step = constant->getAPInt().getSExtValue();
            address = recurrence->getStart();
        }
    }
    bool dense = step == 0 || step == bytes || step == -bytes;
    if (!scev.isLoopInvariant(address, &loop) || !can_expand(address) || std::abs(step) > step_max ||
        (options.map && !dense)) {
        return;
    }
    bool behind_exit = !analyses.dominators.dominates(block, exiting);
    Value *times = turns(behind_exit);
    Value *first = number(address);
    IRBuilder<> builder(place);
    Value *extent =
        builder.CreateMul(builder.CreateSub(times, builder.getInt64(1)), builder.getInt64(uint64_t(std::abs(step))));
    group.pointer = step < 0 ? builder.CreateSub(first, extent) : first;
    group.size = builder.CreateAdd(extent, builder.getInt64(uint64_t(bytes)));
    group.guard = behind_exit ? builder.CreateIsNotNull(times) : nullptr;
    group.counts = counts(group, times);
    group.low = group.high = 0;
    group.at = place;
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
    for (Loop *loop : order) {
        Hoisting hoisting(*loop, analyses, options, loop->getHeader()->getModule()->getDataLayout());
        if (!hoisting.possible()) {
            continue;
        }
        for (Group *group : of_loops[loop]) {
            hoisting.move(*group);
        }
    }
}

} // namespace profalloc
