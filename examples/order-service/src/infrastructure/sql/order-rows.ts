import type { OrderRecord } from '../../application/port/order-record.ts'
import { type OrderStatus, orderStatuses } from '../../domain/order/order-status.ts'
import type { SqlParameter, SqlRow } from './sql-session.ts'

export const orderColumns =
  'id, owner_subject, status, version, items, currency, total_minor, created_at, updated_at, region, idempotency_key, fingerprint'

export const orderMarks = '?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?'

/** Returns the values of a row, in the order of the columns. */
export function valuesOf(order: OrderRecord): readonly SqlParameter[] {
  const { id, ownerSubject, status, version, items, currency, totalMinor } = order
  const { createdAt, updatedAt, region, idempotencyKey, fingerprint } = order
  const list = JSON.stringify(items)
  const change = [createdAt, updatedAt, region, idempotencyKey, fingerprint]
  return [id, ownerSubject, status, version, list, currency, totalMinor, ...change]
}

/** Returns the order of a row. Drivers return large integers as text. */
export function recordOf(row: SqlRow): OrderRecord {
  const status = orderStatuses.find((name) => name === row['status'])
  if (status === undefined) throw new TypeError(`Order ${textOf(row['id'])} has an unknown status.`)
  return {
    id: textOf(row['id']),
    ownerSubject: textOf(row['owner_subject']),
    status: status satisfies OrderStatus,
    version: Number(row['version']),
    items: JSON.parse(textOf(row['items'])) as OrderRecord['items'],
    currency: textOf(row['currency']),
    totalMinor: Number(row['total_minor']),
    createdAt: Number(row['created_at']),
    updatedAt: Number(row['updated_at']),
    region: textOf(row['region']),
    idempotencyKey: row['idempotency_key'] === null ? null : textOf(row['idempotency_key']),
    fingerprint: row['fingerprint'] === null ? null : textOf(row['fingerprint']),
  }
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`A column of orders holds ${typeof value} where text belongs.`)
  return value
}
