/* Owns the form in which memory intrinsics and library calls leave the pass. The code generator chooses between a call of
 * memcpy, which is wrapped and counts itself (hooks/access), and instructions, which do not: here that choice is made for
 * it. Small copies and fills of known size become instructions, one read and one write each; all others become calls that
 * it must not look into. Calls of string functions in the program are protected in the same way.
 *
 * What an instruction alone does not tell is noted in `known`. Nothing here merges or checks ranges. */
#include "hooks/pass/pass.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

using namespace llvm;

namespace profalloc
{

namespace
{

const uint64_t inline_max = 128;

class Lowering
{
  public:
    Lowering(Function &function, const TargetTransformInfo &target_info, Known &what_is_known)
        : module(*function.getParent()), layout(module.getDataLayout()), target(target_info), known(what_is_known),
          inside_memory_function(is_memory_function(function.getName()))
    {
    }

    void visit(Instruction &instruction);

  private:
    void visit_memory(MemIntrinsic &intrinsic);
    bool visit_masked(IntrinsicInst &intrinsic);
    bool visit_of_target(IntrinsicInst &intrinsic);
    void visit_scalable(Instruction &instruction, Value *pointer, Type *type, bool store);
    void make_call(MemIntrinsic &intrinsic);
    void make_inline_copy(MemCpyInst &copy);
    void make_moves(MemMoveInst &move, uint64_t bytes);
    void make_stores(MemSetInst &set, uint64_t bytes);
    void lanes(IntrinsicInst &intrinsic, Value *pointers, Value *mask, Type *type, bool store);
    Value *at(IRBuilder<> &builder, Value *pointer, uint64_t offset, Type *type);
    StoreInst *store_piece(IRBuilder<> &builder, Value *value, Value *pointer, uint64_t offset, MaybeAlign align,
                           bool is_volatile);

    Module &module;
    const DataLayout &layout;
    const TargetTransformInfo &target;
    Known &known;
    bool inside_memory_function;
};

Type *bytes_type(LLVMContext &context)
{
    return PointerType::get(Type::getInt8Ty(context), 0);
}

Value *Lowering::at(IRBuilder<> &builder, Value *pointer, uint64_t offset, Type *type)
{
    Value *bytes = builder.CreatePointerCast(pointer, bytes_type(builder.getContext()));
    Value *moved = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), bytes, offset);
    return builder.CreatePointerCast(moved, PointerType::get(type, 0));
}

/* Pieces of 16, 8, 4, 2 and 1 bytes that make up a size. */
Type *piece_of(LLVMContext &context, uint64_t bytes)
{
    if (bytes >= 16) {
        return FixedVectorType::get(Type::getInt8Ty(context), 16);
    }
    unsigned whole = bytes >= 8 ? 8 : bytes >= 4 ? 4 : bytes >= 2 ? 2 : 1;
    return Type::getIntNTy(context, whole * 8);
}

StoreInst *Lowering::store_piece(IRBuilder<> &builder, Value *value, Value *pointer, uint64_t offset, MaybeAlign align,
                                 bool is_volatile)
{
    Value *place = at(builder, pointer, offset, value->getType());
    auto *store = builder.CreateAlignedStore(value, place, commonAlignment(align.valueOrOne(), offset), is_volatile);
    known[store] = {};
    return store;
}

void Lowering::make_stores(MemSetInst &set, uint64_t bytes)
{
    IRBuilder<> builder(&set);
    LLVMContext &context = builder.getContext();
    Value *splat = builder.CreateVectorSplat(16, set.getValue());
    StoreInst *first = nullptr;
    for (uint64_t done = 0; done < bytes;) {
        Type *piece = piece_of(context, bytes - done);
        uint64_t size = layout.getTypeStoreSize(piece).getFixedValue();
        Value *value = splat;
        if (size < 16) {
            Value *whole = builder.CreateBitCast(splat, FixedVectorType::get(piece, unsigned(16 / size)));
            value = builder.CreateExtractElement(whole, uint64_t(0));
        }
        auto *store = store_piece(builder, value, set.getRawDest(), done, set.getDestAlign(), set.isVolatile());
        first = first ? first : store;
        done += size;
    }
    known[first] = {{set.getRawDest(), bytes, 0, 1, set.isVolatile()}};
    set.eraseFromParent();
}

/* All is read before anything is written, since the two may overlap. */
void Lowering::make_moves(MemMoveInst &move, uint64_t bytes)
{
    IRBuilder<> builder(&move);
    SmallVector<std::pair<uint64_t, LoadInst *>, 12> loads;
    for (uint64_t done = 0; done < bytes;) {
        Type *piece = piece_of(builder.getContext(), bytes - done);
        auto *load =
            builder.CreateAlignedLoad(piece, at(builder, move.getRawSource(), done, piece),
                                      commonAlignment(move.getSourceAlign().valueOrOne(), done), move.isVolatile());
        known[load] = {};
        loads.push_back({done, load});
        done += layout.getTypeStoreSize(piece).getFixedValue();
    }
    Instruction *first = nullptr;
    for (auto [offset, load] : loads) {
        auto *store = store_piece(builder, load, move.getRawDest(), offset, move.getDestAlign(), move.isVolatile());
        first = first ? first : store;
    }
    if (may_be_heap(move.getRawSource())) {
        known[loads.front().second] = {{move.getRawSource(), bytes, 1, 0, move.isVolatile()}};
    }
    if (may_be_heap(move.getRawDest())) {
        known[first] = {{move.getRawDest(), bytes, 0, 1, move.isVolatile()}};
    }
    move.eraseFromParent();
}

void Lowering::make_inline_copy(MemCpyInst &copy)
{
    IRBuilder<> builder(&copy);
    builder.CreateMemCpyInline(copy.getRawDest(), copy.getDestAlign(), copy.getRawSource(), copy.getSourceAlign(),
                               copy.getLength(), copy.isVolatile());
    copy.eraseFromParent();
}

void Lowering::make_call(MemIntrinsic &intrinsic)
{
    IRBuilder<> builder(&intrinsic);
    Type *pointer = bytes_type(builder.getContext());
    bool sets = isa<MemSetInst>(intrinsic);
    Type *second = sets ? builder.getInt32Ty() : pointer;
    const char *name = sets ? "memset" : isa<MemMoveInst>(intrinsic) ? "memmove" : "memcpy";
    FunctionCallee callee = module.getOrInsertFunction(name, pointer, pointer, second, builder.getInt64Ty());
    Value *source = sets ? builder.CreateZExt(cast<MemSetInst>(intrinsic).getValue(), second)
                         : builder.CreatePointerCast(cast<MemTransferInst>(intrinsic).getRawSource(), pointer);
    auto *call = builder.CreateCall(callee, {builder.CreatePointerCast(intrinsic.getRawDest(), pointer), source,
                                             builder.CreateZExt(intrinsic.getLength(), builder.getInt64Ty())});
    call->addFnAttr(Attribute::NoBuiltin);
    call->setDoesNotThrow();
    call->setTailCall(intrinsic.isTailCall());
    intrinsic.eraseFromParent();
}

void Lowering::visit_memory(MemIntrinsic &intrinsic)
{
    auto *transfer = dyn_cast<MemTransferInst>(&intrinsic);
    bool heap = may_be_heap(intrinsic.getRawDest()) || (transfer && may_be_heap(transfer->getRawSource()));
    bool other_space = intrinsic.getDestAddressSpace() != 0 || (transfer && transfer->getSourceAddressSpace() != 0);
    if (!heap || other_space || inside_memory_function || isa<MemCpyInlineInst>(intrinsic)) {
        return;
    }
    auto *length = dyn_cast<ConstantInt>(intrinsic.getLength());
    uint64_t bytes = length ? length->getZExtValue() : UINT64_MAX;
    if (bytes == 0) {
        intrinsic.eraseFromParent();
    } else if (bytes > inline_max) {
        make_call(intrinsic);
    } else if (auto *set = dyn_cast<MemSetInst>(&intrinsic)) {
        make_stores(*set, bytes);
    } else if (auto *move = dyn_cast<MemMoveInst>(&intrinsic)) {
        make_moves(*move, bytes);
    } else {
        make_inline_copy(cast<MemCpyInst>(intrinsic));
    }
}

void Lowering::lanes(IntrinsicInst &intrinsic, Value *pointers, Value *mask, Type *type, bool store)
{
    auto *vector = dyn_cast<FixedVectorType>(type);
    if (!vector) {
        return;
    }
    IRBuilder<> builder(&intrinsic);
    Accesses found;
    uint64_t bytes = layout.getTypeStoreSize(vector->getElementType()).getFixedValue();
    for (uint64_t i = 0; i < vector->getNumElements(); i++) {
        Value *guard = builder.CreateExtractElement(mask, i);
        auto *constant = dyn_cast<ConstantInt>(guard);
        if (!constant || constant->isOne()) {
            Value *pointer = builder.CreateExtractElement(pointers, i);
            found.push_back({pointer, bytes, !store, store, false, nullptr, constant ? nullptr : guard});
        }
    }
    known[&intrinsic] = found;
}

/* Masked accesses are one access, from the first lane that takes part to the last; gathers are one per lane. */
bool Lowering::visit_masked(IntrinsicInst &intrinsic)
{
    Intrinsic::ID id = intrinsic.getIntrinsicID();
    bool store =
        id == Intrinsic::masked_store || id == Intrinsic::masked_compressstore || id == Intrinsic::masked_scatter;
    bool packed = id == Intrinsic::masked_expandload || id == Intrinsic::masked_compressstore;
    Type *type = store ? intrinsic.getArgOperand(0)->getType() : intrinsic.getType();
    Value *pointer = intrinsic.getArgOperand(store ? 1 : 0);
    if (id == Intrinsic::masked_gather || id == Intrinsic::masked_scatter) {
        lanes(intrinsic, pointer, intrinsic.getArgOperand(store ? 3 : 2), type, store);
        return true;
    }
    if (!packed && id != Intrinsic::masked_load && id != Intrinsic::masked_store) {
        return false;
    }
    Value *mask = intrinsic.getArgOperand(packed ? (store ? 2 : 1) : (store ? 3 : 2));
    if (!may_be_heap(pointer)) {
        return true;
    }
    IRBuilder<> builder(&intrinsic);
    Type *word = builder.getInt64Ty();
    auto *vector = cast<VectorType>(type);
    Value *element = builder.getInt64(layout.getTypeStoreSize(vector->getElementType()).getFixedValue());
    Value *address = builder.CreatePtrToInt(pointer, word), *lanes_touched, *any;
    auto *fixed = dyn_cast<FixedVectorType>(type);
    if (fixed && fixed->getNumElements() <= 64) {
        Value *bits = builder.CreateZExt(builder.CreateBitCast(mask, builder.getIntNTy(fixed->getNumElements())), word);
        Value *first = builder.CreateBinaryIntrinsic(Intrinsic::cttz, bits, builder.getFalse());
        Value *after = builder.CreateSub(builder.getInt64(64),
                                         builder.CreateBinaryIntrinsic(Intrinsic::ctlz, bits, builder.getFalse()));
        lanes_touched = packed ? builder.CreateUnaryIntrinsic(Intrinsic::ctpop, bits) : builder.CreateSub(after, first);
        address = packed ? address : builder.CreateAdd(address, builder.CreateMul(first, element));
        any = builder.CreateIsNotNull(bits);
    } else { /* of no fixed length: the same, by comparing the lanes' numbers */
        auto *wide = VectorType::get(word, vector->getElementCount());
        Value *numbers = builder.CreateStepVector(wide), *none = Constant::getNullValue(wide);
        Value *from = builder.CreateSelect(mask, numbers, Constant::getAllOnesValue(wide));
        Value *first = builder.CreateIntMinReduce(from, false);
        Value *last = builder.CreateIntMaxReduce(builder.CreateSelect(mask, numbers, none), false);
        lanes_touched = packed ? builder.CreateAddReduce(builder.CreateZExt(mask, wide))
                               : builder.CreateAdd(builder.CreateSub(last, first), builder.getInt64(1));
        address = packed ? address : builder.CreateAdd(address, builder.CreateMul(first, element));
        any = builder.CreateOrReduce(mask);
    }
    known[&intrinsic] = {{address, 0, !store, store, false, builder.CreateMul(lanes_touched, element), any}};
    return true;
}

/* Of those that LLVM itself does not know by what they do; their pointer is the last argument. */
static void guess(IntrinsicInst &intrinsic, StringRef name, MemIntrinsicInfo &info)
{
    bool loads = name.startswith("llvm.aarch64.neon.ld"), stores = name.startswith("llvm.aarch64.neon.st");
    Value *last = intrinsic.arg_size() != 0 ? intrinsic.getArgOperand(intrinsic.arg_size() - 1) : nullptr;
    if ((loads || stores) && last && last->getType()->isPointerTy()) {
        info.PtrVal = last;
        info.ReadMem = loads;
        info.WriteMem = stores;
    }
}

/* Loads and stores of several vectors at once, that only the target knows. */
bool Lowering::visit_of_target(IntrinsicInst &intrinsic)
{
    MemIntrinsicInfo info;
    StringRef name = intrinsic.getCalledFunction()->getName();
    if (!target.getTgtMemIntrinsic(&intrinsic, info)) {
        guess(intrinsic, name, info);
    }
    if (!info.PtrVal || !may_be_heap(info.PtrVal)) {
        return false;
    }
    bool few = name.contains("lane") || name.contains("r."); /* of each vector one element */
    uint64_t bytes = 0;
    auto add = [&](Type *type) {
        if (auto *vector = dyn_cast<FixedVectorType>(type)) {
            bytes += layout.getTypeStoreSize(few ? vector->getElementType() : type).getFixedValue();
        }
    };
    if (info.WriteMem) {
        for (Value *argument : intrinsic.args()) {
            add(argument->getType());
        }
    } else if (auto *several = dyn_cast<StructType>(intrinsic.getType())) {
        for (Type *type : several->elements()) {
            add(type);
        }
    } else {
        add(intrinsic.getType());
    }
    if (bytes != 0) {
        known[&intrinsic] = {{info.PtrVal, bytes, info.ReadMem, info.WriteMem}};
    }
    return true;
}

void Lowering::visit_scalable(Instruction &instruction, Value *pointer, Type *type, bool store)
{
    TypeSize size = layout.getTypeStoreSize(type);
    if (size.isScalable() && may_be_heap(pointer)) {
        IRBuilder<> builder(&instruction);
        Value *bytes = builder.CreateVScale(builder.getInt64(size.getKnownMinValue()));
        known[&instruction] = {{pointer, 0, !store, store, false, bytes}};
    }
}

void Lowering::visit(Instruction &instruction)
{
    if (auto *intrinsic = dyn_cast<MemIntrinsic>(&instruction)) {
        visit_memory(*intrinsic);
    } else if (auto *any = dyn_cast<IntrinsicInst>(&instruction)) {
        (void)(visit_masked(*any) || visit_of_target(*any));
    } else if (auto *load = dyn_cast<LoadInst>(&instruction)) {
        visit_scalable(*load, load->getPointerOperand(), load->getType(), false);
    } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
        visit_scalable(*store, store->getPointerOperand(), store->getValueOperand()->getType(), true);
    } else if (auto *call = dyn_cast<CallBase>(&instruction)) {
        const Function *callee = call->getCalledFunction();
        if (callee && callee->isDeclaration() && is_memory_function(callee->getName())) {
            call->addFnAttr(Attribute::NoBuiltin);
        }
    }
}

} // namespace

void lower(Function &function, const TargetTransformInfo &target, Known &known)
{
    SmallVector<Instruction *, 64> all;
    for (Instruction &instruction : instructions(function)) {
        if (isa<CallBase>(instruction) || isa<LoadInst>(instruction) || isa<StoreInst>(instruction)) {
            all.push_back(&instruction);
        }
    }
    Lowering lowering(function, target, known);
    for (Instruction *instruction : all) {
        lowering.visit(*instruction);
    }
}

} // namespace profalloc
