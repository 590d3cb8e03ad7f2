/**
 * The engine of one rank: a state machine that runs plans on payloads over a transport.
 *
 * <p>It must not know which transport or algorithm it runs, own a thread, or wait: whoever drives
 * it decides that.
 *
 * <p><b>From a failure to the next group.</b> A rank is lost when its connection ends or when it
 * gives no sign of life ({@link io.collectives.engine.run.Liveness}); a rank that keeps a call
 * waiting is found at the deadline ({@link io.collectives.engine.run.Lateness}). What is found
 * breaks the group ({@link io.collectives.engine.run.Failures}), its members agree on why ({@link
 * io.collectives.engine.run.Verdict}), and {@code shrink} on who is left ({@link
 * io.collectives.engine.run.Agreement}).
 *
 * <p><b>What peers send</b> is checked twice: what no header can say where it arrives, and the rest
 * against the calls and plans of the receiver ({@link io.collectives.engine.run.Arrivals}). Links
 * keep the order of frames, and ranks that wait tell how many they have sent in a call; so a frame
 * that went to another call is missed at once.
 */
@NullMarked
package io.collectives.engine.run;

import org.jspecify.annotations.NullMarked;
