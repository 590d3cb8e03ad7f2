/** Data-parallel training of PyTorch models through JavaCPP. */
module io.collectives.pytorch {
  requires transitive io.collectives.api;
  requires transitive org.bytedeco.pytorch;
  requires org.bytedeco.javacpp;

  exports io.collectives.pytorch;
}
