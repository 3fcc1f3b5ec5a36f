/* Blocks of malloc that are lost, kept, or held by a thread that allocates all the time. */

#include <pthread.h>
#include <ruby.h>
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
    rb_define_singleton_method(leaky, "lose_lists", lose_lists, 2);
    rb_define_singleton_method(leaky, "lose_objects", lose_objects, 2);
    rb_define_singleton_method(leaky, "keep", keep, 2);
    rb_define_singleton_method(leaky, "object", object, 2);
    rb_define_singleton_method(leaky, "register", register_root, 1);
    rb_define_singleton_method(leaky, "begin_storm", begin_storm, 1);
    rb_define_singleton_method(leaky, "end_storm", end_storm, 0);
}
