#ifndef HOLDFAST_CCRYPTO_H
#define HOLDFAST_CCRYPTO_H
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#endif
