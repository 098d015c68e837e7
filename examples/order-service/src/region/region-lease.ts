/** The right of one region to take writes, kept where all regions can reach it. */
export interface RegionLease {
  /**
   * Takes the lease, or keeps it for `ttlMs` more.
   * @returns false while another region holds it; rejects if that cannot be known
   */
  hold(region: string, ttlMs: number): Promise<boolean>
  /** Gives the lease up, so that another region need not wait for its end. */
  release(region: string): Promise<void>
}

/** A lease in memory, for regions of one process. */
export class MemoryRegionLease implements RegionLease {
  readonly #now: () => number
  #holder: { readonly region: string; readonly until: number } | null = null

  constructor(now: () => number) {
    this.#now = now
  }

  async hold(region: string, ttlMs: number): Promise<boolean> {
    const isTaken = this.#holder !== null && this.#holder.region !== region && this.#holder.until > this.#now()
    if (!isTaken) this.#holder = { region, until: this.#now() + ttlMs }
    return !isTaken
  }

  async release(region: string): Promise<void> {
    if (this.#holder?.region === region) this.#holder = null
  }
}
