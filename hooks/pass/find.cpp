/* Owns the knowledge of instructions: which bytes each reads and writes, and which calls leave the heap as it is. */
#include "hooks/pass/pass.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

using namespace llvm;

namespace profalloc
{

/* Objects that are not on the heap, whoever points to them. */
static bool lies_elsewhere(const Value *object)
{
    if (isa<AllocaInst>(object) || isa<GlobalValue>(object) || isa<ConstantPointerNull>(object) ||
        isa<UndefValue>(object)) {
        return true;
    }
    if (auto *argument = dyn_cast<Argument>(object)) {
        return argument->hasByValAttr(); /* a copy on the stack */
    }
    if (auto *load = dyn_cast<LoadInst>(object)) {
        const MDNode *alias = load->getMetadata(LLVMContext::MD_tbaa);
        return alias && alias->isTBAAVtableAccess(); /* what it yields is a table, constant data of a module */
    }
    if (auto *call = dyn_cast<CallBase>(object)) {
        const Function *callee = call->getCalledFunction();
        return callee && (callee->getName() == "__errno_location" ||
                          callee->getName().substr(0, 25) == "llvm.threadlocal.address.");
    }
    return false;
}

bool may_be_heap(const Value *pointer)
{
    if (pointer->getType()->getPointerAddressSpace() != 0 || pointer->isSwiftError()) {
        return false;
    }
    SmallVector<const Value *, 4> objects;
    getUnderlyingObjects(pointer, objects, nullptr, 0);
    return !all_of(objects, lies_elsewhere);
}

bool is_memory_function(StringRef name)
{
#define PFA_WRAP_MEMORY(function) .Case(#function, true)
#define PFA_WRAP_MEMORY_BUILTIN(function) .Case(#function, true)
    return StringSwitch<bool>(name)
#include "hooks/access/wraps.def"
        .Default(false);
}

bool ends_window(const Instruction &instruction)
{
    if (auto *call = dyn_cast<CallBase>(&instruction)) {
        if (call->isInlineAsm()) {
            return true;
        }
        if (isa<DbgInfoIntrinsic>(call) || isa<MemIntrinsic>(call) || call->isLifetimeStartOrEnd()) {
            return false;
        }
        const Function *callee = call->getCalledFunction();
        if (callee && callee->isDeclaration() && is_memory_function(callee->getName())) {
            return false;
        }
        bool harmless =
            call->doesNotAccessMemory() || (call->hasFnAttr(Attribute::NoFree) && call->hasFnAttr(Attribute::NoSync));
        return !harmless || !call->doesNotThrow() || !call->hasFnAttr(Attribute::WillReturn);
    }
    return instruction.isAtomic();
}

/* Atomics that became a call: __atomic_<what>_<bytes>(pointer, ...). */
static void add_atomic_call(const CallBase &call, Accesses &found)
{
    const Function *callee = call.getCalledFunction();
    StringRef name = callee ? callee->getName() : "";
    if (!name.consume_front("__atomic_") || call.arg_size() == 0) {
        return;
    }
    Value *pointer = call.getArgOperand(0);
    uint64_t bytes;
    auto [what, number] = name.rsplit('_');
    if (number.getAsInteger(10, bytes) || !pointer->getType()->isPointerTy() || !may_be_heap(pointer)) {
        return;
    }
    found.push_back({pointer, bytes, what != "store", what != "load", true});
}

static void add_arguments(CallBase &call, const DataLayout &layout, Accesses &found)
{
    for (unsigned i = 0; i < call.arg_size(); i++) {
        Value *pointer = call.getArgOperand(i);
        if (call.isByValArgument(i) && may_be_heap(pointer)) {
            uint64_t bytes = layout.getTypeAllocSize(call.getParamByValType(i)).getFixedValue();
            if (bytes != 0) {
                found.push_back({pointer, bytes, 1, 0}); /* the caller makes the copy */
            }
        }
    }
}

static void add_inline_copy(const MemCpyInlineInst &copy, Accesses &found)
{
    uint64_t bytes = cast<ConstantInt>(copy.getLength())->getZExtValue();
    if (bytes != 0 && may_be_heap(copy.getRawSource())) {
        found.push_back({copy.getRawSource(), bytes, 1, 0, copy.isVolatile()});
    }
    if (bytes != 0 && may_be_heap(copy.getRawDest())) {
        found.push_back({copy.getRawDest(), bytes, 0, 1, copy.isVolatile()});
    }
}

Accesses find_accesses(Instruction &instruction, const Known &known)
{
    Accesses found;
    auto told = known.find(&instruction);
    if (told != known.end()) {
        return told->second;
    }
    if (instruction.hasMetadata("nosanitize")) {
        return found;
    }
    const DataLayout &layout = instruction.getModule()->getDataLayout();
    Value *pointer = nullptr;
    Type *type = nullptr;
    unsigned reads = 0, writes = 0;
    bool lone = instruction.isAtomic();
    if (auto *load = dyn_cast<LoadInst>(&instruction)) {
        pointer = load->getPointerOperand(), type = load->getType(), reads = 1;
        lone |= load->isVolatile();
    } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
        pointer = store->getPointerOperand(), type = store->getValueOperand()->getType(), writes = 1;
        lone |= store->isVolatile();
    } else if (auto *rmw = dyn_cast<AtomicRMWInst>(&instruction)) {
        pointer = rmw->getPointerOperand(), type = rmw->getValOperand()->getType(), reads = writes = 1;
    } else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
        /* One that fails only reads: emit.cpp. */
        pointer = exchange->getPointerOperand(), type = exchange->getNewValOperand()->getType(), reads = writes = 1;
    } else if (auto *copy = dyn_cast<MemCpyInlineInst>(&instruction)) {
        add_inline_copy(*copy, found);
    } else if (auto *call = dyn_cast<CallBase>(&instruction)) {
        add_arguments(*call, layout, found);
        add_atomic_call(*call, found);
    }
    if (pointer && may_be_heap(pointer)) {
        TypeSize size = layout.getTypeStoreSize(type);
        if (!size.isScalable() && size.getFixedValue() != 0) {
            found.push_back({pointer, size.getFixedValue(), reads, writes, lone});
        }
    }
    return found;
}

} // namespace profalloc
