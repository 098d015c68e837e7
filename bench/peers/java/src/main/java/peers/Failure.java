package peers;

/** What a handler throws where every record fails. */
final class Failure extends RuntimeException {
  Failure() {
    super("every record fails");
  }
}
