/** Judges whether a listener may be called now, from the table alone, at the moment of the call. */

import type { SimOutboxRow } from '@waybill/sim/internal'
import type { Decided } from './decided.ts'
import { keyOfPlan } from './event-book.ts'
import type { Call, Ground } from './ground.ts'

/** @param row - the event's row if it is committed and still there */
export function judgeCall(world: Ground, call: Call, row: Readonly<SimOutboxRow> | undefined): void {
  const { court, book } = world
  const { node, eventId } = call
  const record = book.of(eventId)
  if (record.end !== 'COMMITTED') court.violate('I4', `${node.name} delivers ${eventId}, which is not committed`)
  if (node.state === 'STOPPED') court.violate('I18', `${node.name} has stopped and delivers ${eventId}`)
  judgeRepeats(world, call)
  if (world.ownership.isOtherModes(world.now()))
    court.violate('I6', `${node.name} delivers ${eventId} while another mode has the table`)
  if (!world.ownership.isSure(world.now())) return
  judgeRight(world, call, row)
  if (row === undefined || call.version === undefined) return
  judgeRow(world, call, row)
  if (world.program.mode !== 'singleNode' && world.program.mode !== 'multiNode') judgeOrder(world, call, row)
}

function judgeRepeats({ court, journal, program, book, workerCount }: Ground, { node, eventId }: Call): void {
  const running = journal.runningAt(node)
  if (running.length >= workerCount)
    court.violate('I17', `${node.name} has ${running.length} listeners running, and calls one more`)
  const others = journal.runningOf(eventId)
  if (others.some((call) => call.node === node))
    court.violate('I6', `${node.name} delivers ${eventId} while it delivers it already`)
  if (others.length > 0) court.reach('listener: an event is delivered by two nodes at once')
  const { arrivalsSinceReplay } = book.of(eventId)
  if (arrivalsSinceReplay === 0) return
  court.reach('listener: an event is delivered again after it arrived')
  if (program.isCalm) court.violate('DUPLICATE', `${eventId} has arrived, and ${node.name} delivers it again`)
}

/** I6: no listener starts under a lease that has expired by the database's clock. */
function judgeRight({ court }: Ground, call: Call, row: Readonly<SimOutboxRow> | undefined): void {
  const { node, eventId, version } = call
  if (row === undefined) court.violate('I6', `${node.name} delivers ${eventId}, whose row is gone`)
  else if (version === undefined) court.violate('I6', `${node.name} delivers ${eventId} without holding its row`)
}

function judgeRow({ court, server, hasClockJumpedBack }: Ground, call: Call, row: Readonly<SimOutboxRow>): void {
  const { node, eventId, attempt } = call
  if (row.status === 'DONE' || row.status === 'DEAD')
    court.violate('I6', `${node.name} delivers ${eventId}, which is ${row.status}`)
  else if (attempt !== row.attempts + 1)
    court.violate('I5', `${node.name} calls it attempt ${attempt} of ${eventId}, which has had ${row.attempts}`)
  if (!hasClockJumpedBack && row.availableAt > server.now())
    court.violate('DUE', `${node.name} delivers ${eventId} ${row.availableAt - server.now()} ms before it is due`)
}

/** I7: each earlier pending row of the same key is decided by the same owner, or this one must wait. */
function judgeOrder(world: Ground, call: Call, row: Readonly<SimOutboxRow>): void {
  const { court, book, server, program, hasClockJumpedBack } = world
  // After the clock was set back, rows may lie in the future, and `ordered` claims only due rows.
  if (program.mode === 'ordered' && hasClockJumpedBack) return
  const key = keyOfPlan(book.of(call.eventId).plan)
  if (key === null) return
  for (const earlier of server.table.rows) {
    if (earlier.seq >= row.seq) return
    if (!earlier.isCommitted || keyOfPlan(book.of(earlier.event.eventId).plan) !== key) continue
    if (!mayPass(world, call, earlier))
      court.violate(
        'I7',
        `${call.node.name} delivers ${call.eventId} (${row.seq}) before ${earlier.event.eventId} (${earlier.seq}), which is ${earlier.status}`,
      )
  }
}

function mayPass(world: Ground, call: Call, earlier: Readonly<SimOutboxRow>): boolean {
  const { book, program, maxAttempts } = world
  const { eventId } = earlier.event
  const { plan, isReplayed } = book.of(eventId)
  const isBlocking = program.mode !== 'ordered' && program.options.onDeadKey === 'BLOCK'
  if (earlier.status === 'DONE') return true
  if (earlier.status === 'DEAD') return !isBlocking
  // A replay inserts an event behind others already delivered; only a blocked key has waited for it.
  if (isReplayed && !isBlocking) return true
  const decided = decisionOf(world, call, eventId)
  if (decided?.outcome === 'ARRIVED') return true
  if (isBlocking) return false
  const isDying = decided?.outcome === 'HOPELESS' || (decided?.outcome === 'FAILED' && decided.attempt >= maxAttempts)
  return isDying || plan.isLost || plan.isBroken
}

/** Returns the caller's decision about an earlier event that it will write but the table does not show yet. */
function decisionOf(ground: Ground, { node, version }: Call, eventId: string): Decided | undefined {
  const { journal, program, ownership } = ground
  const decided = journal.decidedBy(node.name, eventId)
  if (decided?.version === undefined || version === undefined) return undefined
  // A finish in a shard is fenced by the lease it was decided under. The owner of a whole table may have lost it, and
  // regained it before any other node owned it.
  const isWritten =
    program.mode === 'ordered'
      ? decided.counts && ownership.hadTable(node.name, decided.version, version)
      : decided.version === version
  return isWritten ? decided : undefined
}
