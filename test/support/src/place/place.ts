/** A part of a shared service that belongs to one group of tests. Made before the service is touched. */
export interface Place {
  /** Creates it. */
  open(): Promise<void>
  /** Deletes it with everything in it, whatever the tests left behind. */
  close(): Promise<void>
}

/** How a kind of place is made, and how those of killed runs are found and deleted. */
export interface PlaceKind<P extends Place> {
  create(url: string, name: string): P
  /** Deletes every place of this kind for which `isStale` holds of its name, or of what begins with it. */
  sweep(url: string, isStale: (name: string) => boolean): Promise<void>
}
