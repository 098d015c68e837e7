import type { RegionLease } from '../../region/region-lease.ts'
import type { OrderDatabase } from './order-database.ts'

/** Milliseconds by the clock of the database: those of the regions may differ. */
const nowOf = {
  postgres: 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)',
  mysql: 'CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)',
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
} as const

/** Keeps the lease in one row of a database that all regions reach. */
export function createRegionLease<Tx>({ database, reads }: OrderDatabase<Tx>): RegionLease {
  const now = nowOf[database.dialect]
  return {
    async hold(region, ttlMs) {
      const take = `UPDATE region_lease SET region = ?, until = ${now} + ? WHERE region = ? OR until <= ${now}`
      return (await reads.change(take, [region, ttlMs, region])) === 1
    },
  }
}
