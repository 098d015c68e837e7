import type { OrderRecord } from '../../application/port/order-record.ts'
import type { OrderTransaction, OrderTransactions } from '../../application/port/order-store.ts'
import type { OrderDatabase } from './order-database.ts'
import { orderColumns, orderMarks, recordOf, valuesOf } from './order-rows.ts'
import type { SqlSession } from './sql-session.ts'
import { onStore, tellingFailures, unavailableOr } from './store-failures.ts'

/** Writes the event that an order was created, in the same transaction. */
export type CreatedEventWriter<Tx> = (tx: Tx, record: OrderRecord) => Promise<unknown>

/** Creates the transactions of the application: rows of orders and of the outbox commit together. */
export function createOrderTransactions<Tx>(
  { database, within, isDuplicate }: OrderDatabase<Tx>,
  writeCreated: CreatedEventWriter<Tx>,
): OrderTransactions {
  const lock = database.dialect === 'sqlite' ? '' : ' FOR UPDATE SKIP LOCKED' // SQLite has one writer at a time.
  return {
    async run(work) {
      let refused: { readonly error: unknown } | undefined
      const decide = (tx: Tx) => work(transactionOn(within(tx), lock, (record) => writeCreated(tx, record)))
      try {
        return await database.transaction((tx) =>
          decide(tx).catch((error: unknown) => {
            refused = { error }
            throw error
          }),
        )
      } catch (error) {
        if (refused?.error === error) throw error // The use case decided so, and the transaction is rolled back.
        throw unavailableOr(error)
      }
    },
    isDuplicate,
  }
}

function transactionOn(
  plain: SqlSession,
  lock: string,
  writeCreated: (record: OrderRecord) => Promise<unknown>,
): OrderTransaction {
  const session = tellingFailures(plain)
  const select = async (condition: string, id: string) => {
    const [row] = await session.query(`SELECT ${orderColumns} FROM orders WHERE ${condition}`, [id])
    return row === undefined ? null : recordOf(row)
  }
  return {
    async insert(record) {
      await session.change(`INSERT INTO orders (${orderColumns}) VALUES (${orderMarks})`, valuesOf(record))
    },
    find: (id) => select('id = ?', id),
    takePending: (id) => select(`id = ? AND status = 'PENDING'${lock}`, id),
    async replace({ id, status, version, updatedAt, region }, expectedVersion) {
      const update =
        'UPDATE orders SET status = ?, version = ?, updated_at = ?, region = ? WHERE id = ? AND version = ?'
      return (await session.change(update, [status, version, updatedAt, region, id, expectedVersion])) === 1
    },
    async announceCreated(record) {
      await onStore(() => writeCreated(record))
    },
  }
}
