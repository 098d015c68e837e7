/**
 * The right of one region to take writes, kept where all regions can reach it. All instances of a region share it, so none
 * gives it up: another one may still count on it. It ends by itself once no instance renews it.
 */
export interface RegionLease {
  /**
   * Takes the lease, or keeps it for `ttlMs` more.
   * @returns false while another region holds it; rejects if that cannot be known
   */
  hold(region: string, ttlMs: number): Promise<boolean>
}
