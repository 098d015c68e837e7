/** A part of a shared service that belongs to one group of tests. Constructing it does not connect to the service. */
export interface Place {
  /** Creates it. */
  open(): Promise<void>
  /** Deletes it with everything that the tests left in it. */
  close(): Promise<void>
}

/** Creates places of one kind, and deletes those of killed runs. */
export interface PlaceKind<P extends Place> {
  create(url: string, name: string): P
  /** Deletes every place of this kind whose name, or name prefix, `isStale` accepts. */
  sweep(url: string, isStale: (name: string) => boolean): Promise<void>
}
