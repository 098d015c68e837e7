/** The engine events of an outbox, by name. */
export interface OutboxEngineEvents {
  /** An event was marked DEAD: its attempts are used up, or its failure is permanent. */
  'outbox:event-dead': {
    readonly outbox: string
    readonly eventId: string
    /** The attempts made in total. */
    readonly attempts: number
    readonly error: string
  }
  /** The hot queue had no room for events of a committed transaction; the poller delivers them. */
  'outbox:hot-dropped': { readonly outbox: string; readonly events: number }
  /** Row leases expired while this process held them; another node may deliver the rows. */
  'outbox:lease-lost': { readonly outbox: string; readonly rows: number }
}

declare module '@waybill/core' {
  interface EngineEvents extends OutboxEngineEvents {}
}
