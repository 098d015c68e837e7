import { migrate } from '@waybill/sql'
import type { OrderDatabase } from './order-database.ts'

/** The table of consumed events: an event is processed once, in the transaction of its effect. */
export const processedEventsTable = 'processed_events'

/** Each of the statements may lose one race. */
const mostRaces = 5

const mysqlOptions = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'

/** Creates the tables of the service, of its outbox and of its operators. Several instances may do so at once. */
export async function createTables<Tx>(orders: OrderDatabase<Tx>): Promise<void> {
  await migrate(orders.database, { tables: { inbox: processedEventsTable, admin: 'waybill' } })
  for (let round = 1; ; round++) {
    try {
      return await createOwnTables(orders)
    } catch (error) {
      // Refused, because another instance created the same table at the same moment: it exists in the next round.
      if (round > mostRaces || !orders.isDuplicate(error)) throw error
    }
  }
}

async function createOwnTables<Tx>({ database, reads, isDuplicate }: OrderDatabase<Tx>): Promise<void> {
  const options = database.dialect === 'mysql' ? mysqlOptions : ''
  const statements = [
    `CREATE TABLE IF NOT EXISTS orders (
       id VARCHAR(26) NOT NULL PRIMARY KEY,
       owner_subject VARCHAR(255) NOT NULL,
       status VARCHAR(16) NOT NULL,
       version INTEGER NOT NULL,
       items TEXT NOT NULL,
       currency CHAR(3) NOT NULL,
       total_minor BIGINT NOT NULL,
       created_at BIGINT NOT NULL,
       updated_at BIGINT NOT NULL,
       region VARCHAR(64) NOT NULL,
       idempotency_key VARCHAR(128),
       fingerprint VARCHAR(128),
       CONSTRAINT orders_key UNIQUE (owner_subject, idempotency_key)
     ) ${options}`,
    `CREATE TABLE IF NOT EXISTS order_regions (
       order_id VARCHAR(26) NOT NULL PRIMARY KEY,
       occurred_at BIGINT,
       version INTEGER NOT NULL,
       region VARCHAR(64) NOT NULL
     ) ${options}`,
    `CREATE TABLE IF NOT EXISTS region_lease (
       region VARCHAR(64) NOT NULL,
       until BIGINT NOT NULL,
       id INTEGER NOT NULL PRIMARY KEY
     ) ${options}`,
  ]
  for (const statement of statements) await reads.change(statement)
  // No region holds the lease yet. Another instance may have written the row.
  await reads.change("INSERT INTO region_lease (region, until, id) VALUES ('', 0, 1)").catch((error: unknown) => {
    if (!isDuplicate(error)) throw error
  })
  await createIndex(database.dialect, reads, 'orders_by_owner', '(owner_subject, created_at, id)')
  await createIndex(database.dialect, reads, 'orders_by_status', '(status, created_at, id)')
}

async function createIndex(
  dialect: 'postgres' | 'mysql' | 'sqlite',
  reads: OrderDatabase<unknown>['reads'],
  name: string,
  columns: string,
): Promise<void> {
  if (dialect !== 'mysql') await reads.change(`CREATE INDEX IF NOT EXISTS ${name} ON orders ${columns}`)
  else if ((await reads.query('SHOW INDEX FROM orders WHERE Key_name = ?', [name])).length === 0)
    await reads.change(`CREATE INDEX ${name} ON orders ${columns}`)
}
