/**
 * The transport between processes of one host: frames go through rings in mapped memory, copied in
 * once and read where they are, or are leased, from memory that all have mapped.
 *
 * <p>It must not know plans or elements.
 */
@NullMarked
package io.collectives.engine.sharedmemory;

import org.jspecify.annotations.NullMarked;
