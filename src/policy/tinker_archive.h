/* tinker_archive: downloads the adapter of a checkpoint from a Tinker server.
 *
 * A checkpoint tinker://RUN/weights/NAME has a twin for samplers,
 * tinker://RUN/sampler_weights/NAME, of which servers make an archive. A GET of
 * …/checkpoints/sampler_weights/NAME/archive (SkyRL: of NAME alone) redirects to it, or answers
 * {"url"}. The key is not sent there, and no address without encryption is followed from one with
 * it. The archive is unpacked as it arrives (policy/untar.h).
 *
 * SkyRL names no `target_modules` in adapter_config.json; they are added from the names of the
 * tensors, as Transformers and the engine need them.
 *
 * Errors: ERR_INPUT (no such checkpoint, an archive without an adapter), ERR_IO (the connection, a
 * full disk), ERR_TIMEOUT, ERR_LIMIT, ERR_CANCELLED. The caller removes `directory` then.
 */
#pragma once

#include "base/settings.h"

struct tinker_archive_options {
    const char *url;
    const struct settings *settings; /* policy.* */
    const _Atomic int *cancelled;
};

/* `directory` exists and is empty. */
NODISCARD int tinker_archive_fetch(const struct tinker_archive_options *options, const char *where,
                                   const char *directory, struct err *err);
