/**
 * The engine of one rank: a state machine that runs plans on payloads over a transport.
 *
 * <p>It must not know which transport or algorithm it runs, own a thread, or wait: whoever drives
 * it decides that.
 *
 * <p><b>Layers.</b> A class knows those of its own layer and of the layers below; an architecture
 * test holds the package to that.
 *
 * <table>
 * <caption>The layers, from below</caption>
 * <tr><th>layer</th><th>what is there</th></tr>
 * <tr><td>program</td><td>a rank's part of a plan, and what compiles it: {@link
 * io.collectives.engine.run.Program}</td></tr>
 * <tr><td>call</td><td>a rank's part in a call, which knows no group and no frames: {@link
 * io.collectives.engine.run.CallRun}</td></tr>
 * <tr><td>frame</td><td>what travels, what is held, and what is done with it: {@link
 * io.collectives.engine.run.OutFrame}, {@link io.collectives.engine.run.HeldFrame}, {@link
 * io.collectives.engine.run.FrameApplier}</td></tr>
 * <tr><td>group</td><td>the calls of groups in their order, and facts about members: {@link
 * io.collectives.engine.run.Call}, {@link io.collectives.engine.run.Group}, {@link
 * io.collectives.engine.run.Calls}</td></tr>
 * <tr><td>failure</td><td>how failures are found, told and agreed on: {@link
 * io.collectives.engine.run.Failures}</td></tr>
 * <tr><td>run</td><td>the state machine that drives the rest: {@link
 * io.collectives.engine.run.Engine}</td></tr>
 * </table>
 *
 * <p>One call goes up: {@link io.collectives.engine.run.Liveness} hears of the peers that it gives
 * up through an interface of its own.
 *
 * <p><b>From a failure to the next group.</b> A rank is lost when its connection ends or when it
 * gives no sign of life ({@link io.collectives.engine.run.Liveness}); a rank that keeps a call
 * waiting is found at the deadline ({@link io.collectives.engine.run.Lateness}). What is found
 * breaks the group ({@link io.collectives.engine.run.Breaker}), its members agree on why ({@link
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
