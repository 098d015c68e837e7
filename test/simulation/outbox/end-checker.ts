/** Checks what must hold when everything has drained, and when all processes have stopped. */

import { purgeShard } from '@waybill/outbox/internal'
import type { SimOutboxRow } from '@waybill/sim/internal'
import { keyOfPlan } from './event-book.ts'
import type { NodeView } from './ground.ts'
import type { World } from './world.ts'

/** Describes what is not over yet (L1); undefined when everything is. */
export function obstacleOf(world: World): string | undefined {
  const waiting = world.roads.isAway ? waitingRows(world) : noRows
  const pending = world.server.table.rows.find(
    (row) => row.isCommitted && isPending(row) && !waiting.has(row) && !isBlocked(world, row),
  )
  if (pending !== undefined) return `${pending.event.eventId} (${pending.seq}) is ${pending.status}`
  const open = world.server.table.rows.find(({ isCommitted }) => !isCommitted)
  if (open !== undefined) return `the transaction of ${open.event.eventId} is open`
  // It keeps slots of the hot queue, even for deleted rows.
  const looking = [...world.nodes.values()].find((node) => isLooking(world, node))
  return looking === undefined ? undefined : `${looking.name} looks for rows that it wrote`
}

const noRows: ReadonlySet<Readonly<SimOutboxRow>> = new Set()

/** Returns the rows that wait for unavailable destinations, and those that wait behind them. */
function waitingRows({ server, roads, book, program }: World): ReadonlySet<Readonly<SimOutboxRow>> {
  const pending = server.table.rows.filter((row) => row.isCommitted && isPending(row))
  const isBlockedRow = ({ event }: Readonly<SimOutboxRow>): boolean => roads.blockerOf(event.eventId) !== undefined
  // A row that became due later than those behind it waits, too.
  if (program.mode === 'ordered') return new Set(pending.some(isBlockedRow) ? pending : [])
  const waiting = new Set<Readonly<SimOutboxRow>>()
  const keys = new Set<string>()
  for (const row of pending) {
    const key = keyOfPlan(book.of(row.event.eventId).plan)
    const isBehind = key !== null && keys.has(key) && program.mode !== 'singleNode' && program.mode !== 'multiNode'
    if (!isBehind && !isBlockedRow(row)) continue
    waiting.add(row)
    if (key !== null) keys.add(key)
  }
  return waiting
}

function isLooking(world: World, { name, state }: NodeView): boolean {
  return state === 'LIVING' && world.engineStatements(name).includes('findPending')
}

/** I4: each committed event was delivered, or is DEAD. */
export function judgeDeliveries({ court, book, server }: World): void {
  for (const { plan, end, arrivals, wasDead } of book.all) {
    const row = server.table.find(plan.id)
    const isPendingRow = row !== undefined && isPending(row)
    if (end === 'COMMITTED' && arrivals === 0 && !wasDead && !isPendingRow)
      court.violate('I4', `${plan.id} was committed, is ${row?.status ?? 'gone'}, and never arrived`)
    if (end !== 'COMMITTED' && arrivals > 0) court.violate('I4', `${plan.id} arrived and was never committed`)
  }
}

/** I18: a process that stopped gracefully has released its leases. */
export function judgeRest({ court, server, ownership, program }: World): void {
  for (const { shard, owner } of server.table.leases.owners())
    if (shard !== purgeShard && ownership.processOf(owner) !== undefined && program.isCalm)
      court.violate('I18', `everybody has stopped, and ${owner} still holds shard ${shard}`)
}

function isPending({ status }: Readonly<SimOutboxRow>): boolean {
  return status === 'NEW' || status === 'RETRY'
}

/** Returns true for a row that is blocked by an earlier dead row, as configured. */
function isBlocked({ program, book, server, court }: World, row: Readonly<SimOutboxRow>): boolean {
  const isBlocking = (program.mode === 'keyed' || program.mode === 'leasing') && program.options.onDeadKey === 'BLOCK'
  const key = keyOfPlan(book.of(row.event.eventId).plan)
  if (!isBlocking || key === null) return false
  const isHeld = server.table.rows.some(
    ({ seq, status, event }) => seq < row.seq && status === 'DEAD' && keyOfPlan(book.of(event.eventId).plan) === key,
  )
  if (isHeld) court.reach('dead: it blocks its key')
  return isHeld
}
