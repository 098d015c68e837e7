import { createEnvelope } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { ProcessGate } from '../world/process-gate.ts'
import { judgeCall } from './call-checker.ts'
import type { Decided } from './decided.ts'
import type { Call, NodeView } from './ground.ts'
import type { Mode } from './mode.ts'
import { drawProgram } from './program.ts'
import { World } from './world.ts'

const plan = { key: 'key-0', isLost: false, isBroken: false, delayMs: null, calls: [] } as const

/** Two rows of one key, of which the first is still NEW; the second is called under the third lease. */
function callSecond(mode: Mode, decided: Decided, tables: readonly bigint[] = []): readonly string[] {
  const runtime = createVirtualRuntime(1)
  const program = { ...drawProgram(1), mode, isCalm: false }
  const world = new World(runtime, { ...program, options: { ...program.options, onDeadKey: 'RELEASE' } }, undefined)
  const ids = ['first', 'second']
  for (const id of ids) world.book.add({ ...plan, id })
  const events = ids.map((eventId) =>
    createEnvelope({ eventId, eventType: 'order.placed', aggregateId: plan.key, payloadJson: '{}' }),
  )
  world.server.table.commit(world.server.table.insert(events, { lease: null, availableAt: null }))
  for (const version of tables) world.ownership.tookTable(version, 'node')
  const node: NodeView = { name: 'node', gate: new ProcessGate('node', runtime), state: 'LIVING' }
  const call: Call = { node, eventId: 'second', attempt: 1, version: 3n }
  const journal = { runningOf: () => [], runningAt: () => [], forget: () => {} }
  const judged = { ...journal, listen: () => Promise.resolve(), decidedBy: () => decided }
  judgeCall(
    Object.create(world, { journal: { value: judged }, now: { value: () => 0 } }),
    call,
    world.server.table.rows[1],
  )
  return world.court.violations.map(({ invariant }) => invariant)
}

describe('an event may be called before the end of an earlier one of its key is written', () => {
  const decisions = (['ARRIVED', 'HOPELESS'] as const).map((outcome) => ({ outcome, attempt: 1, counts: true }))

  test.each(decisions)('in keyed, if that was $outcome under the same lease', (decided) => {
    expect(callSecond('keyed', { ...decided, version: 3n })).toEqual([])
    expect(callSecond('keyed', { ...decided, version: 2n })).toEqual(['I7'])
  })

  test.each(decisions)('in ordered, if that was $outcome and no other node had the table since', (decided) => {
    expect(callSecond('ordered', { ...decided, version: 2n }, [2n, 3n])).toEqual([])
    expect(callSecond('ordered', { ...decided, version: 2n }, [3n])).toEqual(['I7'])
  })

  test('but not if it failed because its signal was aborted', () => {
    const decided = { outcome: 'HOPELESS', attempt: 1, version: 2n, counts: false } as const
    expect(callSecond('ordered', decided)).toEqual(['I7'])
  })
})
