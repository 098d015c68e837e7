package peers;

/** The exception of a handler in cases where every record fails. */
final class Failure extends RuntimeException {
  Failure() {
    super("every record fails");
  }
}
