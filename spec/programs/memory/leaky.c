/* Blocks of malloc that are lost, kept, or held by a thread that allocates all the time. */

#include <ruby.h> /* first, as it defines _GNU_SOURCE */
#include <ruby/thread.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *volatile kept[1 << 16]; /* or the compiler would leave it out */
static size_t kept_count;

static void *filled(size_t bytes)
{
    void *block = malloc(bytes);
    memset(block, 0x5a, bytes);
    return block;
}

/* Loses `count` blocks of `bytes`. No local variable keeps one of them. */
static VALUE lose(VALUE self, VALUE count, VALUE bytes)
{
    for (long left = NUM2LONG(count); left > 0; left--)
        filled(NUM2SIZET(bytes));
    return Qnil;
}

/* Loses `count` blocks of `bytes`, and tries in vain to resize each. */
static VALUE lose_after_resize(VALUE self, VALUE count, VALUE bytes)
{
    for (long left = NUM2LONG(count); left > 0; left--)
        if (realloc(filled(NUM2SIZET(bytes)), PTRDIFF_MAX))
            rb_raise(rb_eRuntimeError, "there was memory");
    return Qnil;
}

/* Loses `count` lists of ten blocks, each of which refers to the next. */
static VALUE lose_lists(VALUE self, VALUE count, VALUE bytes)
{
    for (long left = NUM2LONG(count); left > 0; left--) {
        void *next = NULL;
        for (int block = 0; block < 10; block++) {
            void **made = filled(NUM2SIZET(bytes));
            *made = next;
            next = made;
        }
    }
    return Qnil;
}

/* Keeps `count` blocks of `bytes` in this library's data. */
static VALUE keep(VALUE self, VALUE count, VALUE bytes)
{
    for (long left = NUM2LONG(count); left > 0; left--)
        kept[kept_count++] = filled(NUM2SIZET(bytes));
    return Qnil;
}

/* Blocks that begin with the address of a function of this library, as objects of C++ do. */
static VALUE lose_objects(VALUE self, VALUE count, VALUE bytes)
{
    for (long left = NUM2LONG(count); left > 0; left--)
        *(void **)filled(NUM2SIZET(bytes)) = (void *)lose;
    return Qnil;
}

static void free_data(void *block)
{
    free(block);
}

static const rb_data_type_t type = {"leaky", {NULL, free_data, NULL}, NULL, NULL, 0};

/* An object of `klass` that has a block of `bytes`, which Ruby does not know. */
static VALUE object(VALUE self, VALUE klass, VALUE bytes)
{
    void **block = filled(NUM2SIZET(bytes));
    block[0] = NULL;
    rb_undef_alloc_func(klass); /* Ruby warns of a class that can have other objects */
    return TypedData_Wrap_Struct(klass, &type, block);
}

static volatile int storming;

static void *storm(void *seed)
{
    void *blocks[64] = {NULL};
    unsigned int state = (unsigned int)(size_t)seed;
    while (storming) {
        unsigned int place = rand_r(&state) % 64;
        free(blocks[place]);
        blocks[place] = malloc(rand_r(&state) % 3000 + 1);
    }
    for (int place = 0; place < 64; place++)
        free(blocks[place]);
    return NULL;
}

/* Begins threads that do nothing but allocate and free, without the GVL. */
static VALUE begin_storm(VALUE self, VALUE threads)
{
    storming = 1;
    for (long left = NUM2LONG(threads); left > 0; left--) {
        pthread_t thread;
        pthread_create(&thread, NULL, storm, (void *)(size_t)left);
        pthread_detach(thread);
    }
    return Qnil;
}

static VALUE end_storm(VALUE self)
{
    storming = 0;
    return Qnil;
}

/* Loses `count` copies of a text of `bytes`. */
static VALUE lose_copies(VALUE self, VALUE count, VALUE bytes)
{
    size_t length = NUM2SIZET(bytes);
    char *text = calloc(1, length + 1);
    memset(text, 'x', length);
    for (long left = NUM2LONG(count); left > 0; left--)
        *(char *volatile *)&kept[0] = strdup(text);
    kept[0] = NULL;
    free(text);
    return Qnil;
}

/* Allocates and frees `count` blocks of `bytes`. */
static VALUE churn(VALUE self, VALUE count, VALUE bytes)
{
    for (long left = NUM2LONG(count); left > 0; left--) {
        void *block = realloc(filled(NUM2SIZET(bytes)), 2 * NUM2SIZET(bytes));
        free(block);
    }
    return Qnil;
}

/* Allocates and frees a block of `bytes`, `count` times. */
static VALUE pairs(VALUE self, VALUE count, VALUE bytes)
{
    size_t size = NUM2SIZET(bytes);
    for (long left = NUM2LONG(count); left > 0; left--) {
        kept[0] = malloc(size);
        free(kept[0]);
    }
    kept[0] = NULL;
    return Qnil;
}

struct loss {
    long count;
    size_t bytes;
};

static void *lose_in_thread(void *arg)
{
    struct loss *loss = arg;
    for (long left = loss->count; left > 0; left--)
        filled(loss->bytes);
    return NULL;
}

/* As `lose`, without the GVL. */
static VALUE lose_without_gvl(VALUE self, VALUE count, VALUE bytes)
{
    struct loss loss = {NUM2LONG(count), NUM2SIZET(bytes)};
    rb_thread_call_without_gvl(lose_in_thread, &loss, NULL, NULL);
    return Qnil;
}

/* As `lose`, on a thread that is not Ruby's. */
static VALUE lose_elsewhere(VALUE self, VALUE count, VALUE bytes)
{
    struct loss loss = {NUM2LONG(count), NUM2SIZET(bytes)};
    pthread_t thread;
    pthread_create(&thread, NULL, lose_in_thread, &loss);
    pthread_join(thread, NULL);
    return Qnil;
}

/* Returns how many of four functions of malloc this library calls directly. */
static VALUE untouched(VALUE self)
{
    void *volatile here[] = {(void *)malloc, (void *)free, (void *)calloc, (void *)realloc};
    const char *names[] = {"malloc", "free", "calloc", "realloc"};
    int same = 0;
    for (int place = 0; place < 4; place++)
        same += here[place] == dlsym(RTLD_DEFAULT, names[place]);
    return INT2NUM(same);
}

static VALUE registered;

/* Registers the address of an object as a root. */
static VALUE register_root(VALUE self, VALUE object)
{
    registered = object;
    rb_gc_register_address(&registered);
    return Qnil;
}

void Init_leaky(void)
{
    VALUE leaky = rb_define_module("Leaky");
    rb_define_singleton_method(leaky, "lose", lose, 2);
    rb_define_singleton_method(leaky, "lose_after_resize", lose_after_resize, 2);
    rb_define_singleton_method(leaky, "lose_lists", lose_lists, 2);
    rb_define_singleton_method(leaky, "lose_copies", lose_copies, 2);
    rb_define_singleton_method(leaky, "lose_without_gvl", lose_without_gvl, 2);
    rb_define_singleton_method(leaky, "lose_elsewhere", lose_elsewhere, 2);
    rb_define_singleton_method(leaky, "churn", churn, 2);
    rb_define_singleton_method(leaky, "pairs", pairs, 2);
    rb_define_singleton_method(leaky, "untouched", untouched, 0);
    rb_define_singleton_method(leaky, "lose_objects", lose_objects, 2);
    rb_define_singleton_method(leaky, "keep", keep, 2);
    rb_define_singleton_method(leaky, "object", object, 2);
    rb_define_singleton_method(leaky, "register", register_root, 1);
    rb_define_singleton_method(leaky, "begin_storm", begin_storm, 1);
    rb_define_singleton_method(leaky, "end_storm", end_storm, 0);
}
