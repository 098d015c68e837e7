/** What `handleEvents` makes, for `handler` of a binding. The connector decodes records, then calls what is in it. */
export interface EventHandler {
  readonly handlers: object
}
