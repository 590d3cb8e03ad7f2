package io.collectives.engine;

import io.collectives.engine.run.Call;

/** The user's end of a call that its method does not wait for. */
interface Handle extends Call.Completion {}
