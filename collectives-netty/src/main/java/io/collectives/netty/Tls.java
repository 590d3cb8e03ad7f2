package io.collectives.netty;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.TlsFiles;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.IdentityCipherSuiteFilter;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeTimeoutException;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.jspecify.annotations.Nullable;

/**
 * TLS 1.3 between ranks, both of which show a certificate. Which rank a certificate is for is told
 * by {@link TlsFiles#identity} among its subject alternative names, and by nothing else: names of
 * hosts do not matter.
 */
final class Tls {
  /** The time that a connection may take to be admitted, with TLS or without. */
  static final int ADMISSION_SECONDS = 5;

  /**
   * The number of bytes that a peer may send until it is admitted: a handshake message, and a chain
   * of certificates.
   */
  static final int UNADMITTED_LENGTH = 32 * 1024;

  /** The number of bytes that are read at once. */
  static final int READ_LENGTH = 64 * 1024;

  static final String VERSION = "TLSv1.3";

  /**
   * The kind of the key stores in memory that Netty puts keys and certificates into. PKCS #12, the
   * default, encrypts each key by one derived in 10,000 rounds of HMAC, and decrypts it at once.
   */
  private static final String KEY_STORE = "JKS";

  private static final int URI_NAME = 6;

  private final String job;
  private final SslContext accepting;
  private final SslContext connecting;

  /** Both directions have the keys of one context, so that these are read once. */
  private Tls(String job, JdkSslContext connecting) {
    this.job = job;
    this.connecting = connecting;
    this.accepting =
        new JdkSslContext(
            connecting.context(),
            false,
            null,
            IdentityCipherSuiteFilter.INSTANCE,
            null,
            ClientAuth.REQUIRE,
            new String[] {VERSION},
            false);
  }

  /**
   * Creates the TLS that the settings ask for.
   *
   * @throws JoinException if a file is not what it should be, or the certificate is not for this
   *     rank
   */
  static @Nullable Tls of(JobSettings settings) {
    TlsFiles files = settings.security().tls();
    if (files == null) {
      return null;
    }
    files.check();
    try {
      checkOwn(settings, files);
      return new Tls(settings.job(), context(files));
    } catch (IOException | CertificateException | IllegalArgumentException e) {
      throw new JoinException(
          "rank "
              + settings.rank()
              + " cannot use TLS with certificate "
              + files.certificate()
              + ", key "
              + files.key()
              + " and trust "
              + files.trust()
              + ": "
              + e.getMessage()
              + "; all must be in PEM format, and the key PKCS #8 without a password",
          e);
    }
  }

  private static JdkSslContext context(TlsFiles files) throws SSLException {
    return (JdkSslContext)
        SslContextBuilder.forClient()
            .keyManager(files.certificate().toFile(), files.key().toFile())
            .trustManager(files.trust().toFile())
            .sslProvider(SslProvider.JDK)
            .keyStoreType(KEY_STORE)
            .protocols(VERSION)
            .endpointIdentificationAlgorithm(null)
            .build();
  }

  private static void checkOwn(JobSettings settings, TlsFiles files)
      throws IOException, CertificateException {
    try (InputStream in = Files.newInputStream(files.certificate())) {
      X509Certificate own =
          (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
      own.checkValidity();
      String identity = TlsFiles.identity(settings.job(), settings.rank());
      if (!names(own).contains(identity)) {
        throw new JoinException(
            "the certificate "
                + files.certificate()
                + " is for "
                + names(own)
                + ", not for "
                + identity
                + ", which rank "
                + settings.rank()
                + " needs as a subject alternative name of type URI");
      }
    }
  }

  /** Encrypts and decrypts one connection. */
  SslHandler handler(boolean incoming, ByteBufAllocator allocator) {
    SslHandler handler = (incoming ? accepting : connecting).newHandler(allocator);
    // A peer that does not poll yet has not accepted yet: who connects can wait.
    handler.setHandshakeTimeout(incoming ? ADMISSION_SECONDS : 0, TimeUnit.SECONDS);
    return handler;
  }

  /** Returns whether the peer has shown a certificate for a rank. */
  boolean isPeer(SslHandler handler, int rank) {
    return names(handler).contains(TlsFiles.identity(job, rank));
  }

  /** Returns whether the peer has shown a certificate for some rank of the job. */
  boolean isOfTheJob(SslHandler handler) {
    String ofAll = TlsFiles.identity(job, 0);
    String prefix = ofAll.substring(0, ofAll.length() - 1);
    return names(handler).stream().anyMatch(name -> name.startsWith(prefix));
  }

  /**
   * Creates the TLS of somebody who asks ranks for their status.
   *
   * @throws IOException if a file is not what it should be
   */
  static SSLContext asking(TlsFiles files) throws IOException {
    files.check();
    try {
      return context(files).context();
    } catch (IllegalArgumentException e) {
      throw new IOException("the files for TLS cannot be used: " + e.getMessage(), e);
    }
  }

  /** The names in the certificate that the one at the other end has shown. */
  static List<String> names(SslHandler handler) {
    try {
      return names((X509Certificate) handler.engine().getSession().getPeerCertificates()[0]);
    } catch (SSLPeerUnverifiedException | CertificateParsingException e) {
      return List.of();
    }
  }

  private static List<String> names(X509Certificate certificate)
      throws CertificateParsingException {
    List<String> names = new ArrayList<>();
    Collection<List<?>> all = certificate.getSubjectAlternativeNames();
    if (all != null) {
      for (List<?> name : all) {
        if (name.get(0).equals(URI_NAME)) {
          names.add(String.valueOf(name.get(1)));
        }
      }
    }
    return names;
  }

  /**
   * Returns the cause of a problem if it means that one side will never accept the other, however
   * often they try; null if a connection only ended, or was slow.
   */
  static @Nullable Throwable refusal(@Nullable Throwable problem) {
    Throwable cause =
        problem instanceof DecoderException && problem.getCause() != null
            ? problem.getCause()
            : problem;
    return cause instanceof SSLException
            && !(cause instanceof SslHandshakeTimeoutException)
            && !(cause.getCause() instanceof IOException transport
                && !(transport instanceof SSLException))
        ? cause
        : null;
  }
}
