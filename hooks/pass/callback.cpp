/* Owns the callback inside the compiled module: its declaration, and its body (hooks/pass/inline.c), which the plugin
 * carries as bitcode of both architectures. All modules have the body; the linker keeps one. There are no other
 * architectures that the library is for. */
#include "hooks/pass/pass.h"
#include "hooks/pass/bitcode.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>

using namespace llvm;

namespace profalloc
{

static const char *const inline_name = "__profalloc_at";
static const char *const view_name = "pfa_access_view_9"; /* hooks/access/view.h */

static StringRef body_for(const Module &module)
{
    StringRef triple(module.getTargetTriple());
    StringRef machine = triple.split('-').first;
    for (const pfa_pass_bitcode *body = pfa_pass_bitcodes; body->machine; body++) {
        if (machine == body->machine) {
            return {reinterpret_cast<const char *>(body->bytes), body->size};
        }
    }
    return {};
}

bool has_callback(const Module &module)
{
    return !body_for(module).empty();
}

uint64_t usual_bit_of(const Module &module)
{
    return StringRef(module.getTargetTriple()).startswith("x86_64") ? uint64_t(1) << 46 : uint64_t(1) << 47;
}

GlobalVariable *view_of(Module &module)
{
    Type *two_words = ArrayType::get(Type::getInt64Ty(module.getContext()), 2);
    auto *view = module.getGlobalVariable(view_name, true);
    if (!view) {
        view = new GlobalVariable(module, two_words, false, GlobalValue::ExternalLinkage, nullptr, view_name);
        view->setVisibility(GlobalValue::HiddenVisibility);
        view->setDSOLocal(true);
    }
    return view;
}

Function *callback_of(Module &module)
{
    Function *callback = module.getFunction(inline_name);
    if (!callback) {
        Type *word = Type::getInt64Ty(module.getContext());
        auto *type = FunctionType::get(Type::getVoidTy(module.getContext()), {word, word, word}, false);
        callback = Function::Create(type, GlobalValue::ExternalLinkage, inline_name, module);
        callback->setVisibility(GlobalValue::HiddenVisibility);
        callback->setDSOLocal(true);
        callback->setCallingConv(CallingConv::PreserveMost);
    }
    return callback;
}

void mark_merged(Module &module)
{
    auto *one = ConstantInt::get(Type::getInt8Ty(module.getContext()), 1);
    auto *mark =
        new GlobalVariable(module, one->getType(), true, GlobalValue::WeakODRLinkage, one, "__profalloc_merged");
    mark->setVisibility(GlobalValue::HiddenVisibility);
    mark->setComdat(module.getOrInsertComdat(mark->getName()));
}

void link_callback(Module &module)
{
    StringRef bytes = body_for(module);
    Function *callback = module.getFunction(inline_name);
    if (!callback || !callback->isDeclaration()) {
        return;
    }
    auto body = cantFail(parseBitcodeFile(MemoryBufferRef(bytes, "profalloc"), module.getContext()));
    /* What the program is compiled for is the program's to say. */
    if (NamedMDNode *flags = body->getModuleFlagsMetadata()) {
        body->eraseNamedMetadata(flags);
    }
    if (NamedMDNode *identity = body->getNamedMetadata("llvm.ident")) {
        body->eraseNamedMetadata(identity);
    }
    body->setTargetTriple(module.getTargetTriple());
    body->setDataLayout(module.getDataLayout());
    /* One group of sections with all that is in it: copies go as a whole. */
    Comdat *group = body->getOrInsertComdat(inline_name);
    for (Function &function : *body) {
        if (!function.isDeclaration()) {
            function.setComdat(group);
            function.setLinkage(function.getName() == inline_name ? GlobalValue::LinkOnceODRLinkage
                                                                  : GlobalValue::InternalLinkage);
        }
    }
    if (Linker::linkModules(module, std::move(body))) {
        report_fatal_error("profalloc: the callback does not fit the module");
    }
}

} // namespace profalloc
