import { Buffer } from 'node:buffer'
import { createMemoryLogger } from '@waybill/core'
import { encodeAssignment, errorCode, type JoinGroupResponse, type KafkaApi } from '@waybill/kafka/wire'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import type { Cluster } from '../../../src/client/cluster/cluster.ts'
import type { Nodes } from '../../../src/client/cluster/nodes.ts'
import { CoordinatorLink } from '../../../src/client/group/coordinator-link.ts'
import { GroupEntry } from '../../../src/client/group/group-entry.ts'
import { GroupLeader } from '../../../src/client/group/group-leader.ts'
import { type Membership, noMembership } from '../../../src/client/group/membership.ts'

const options = {
  topics: ['mine'],
  instanceId: null,
  assignment: 'COOPERATIVE',
  sessionTimeoutMs: 10_000,
  rebalanceTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
} as const

/** A place as a follower. */
const joined: JoinGroupResponse = {
  errorCode: errorCode.NONE,
  generationId: 5,
  protocolName: 'cooperative-sticky',
  leader: 'leader',
  skipAssignment: false,
  memberId: 'me',
  members: [],
}
const synced = {
  errorCode: errorCode.NONE,
  assignment: encodeAssignment([
    { topic: 'mine', partitions: [1, 2] },
    { topic: 'strange', partitions: [0] },
  ]),
}
const refusedSync = (code: number) => ({ errorCode: code, assignment: Buffer.alloc(0) })

/** An entry whose coordinator gives these answers, one after the other. */
function entering(...answers: readonly object[]) {
  const left = [...answers]
  const asked: KafkaApi[] = []
  const nodes: Nodes = {
    send: async (_node, api) => {
      asked.push(api)
      return left.shift() as never
    },
    close() {},
  }
  const cluster = {
    coordinator: async () => ({ host: 'a', port: 1 }),
    invalidateCoordinator() {},
  } as unknown as Cluster
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const link = new CoordinatorLink(cluster, { JOIN: nodes, OFFSET: nodes, BEAT: nodes }, runtime.clock, 'g')
  const entrant = {
    membership: noMembership,
    owned: [],
    hasGivenUp: false,
    proofs: 0,
    placed(membership: Membership) {
      entrant.membership = membership
    },
    proveAlive() {
      entrant.proofs++
    },
    orGiveUp: async <T>(work: Promise<T>): Promise<T | undefined> => (entrant.hasGivenUp ? undefined : work),
  }
  const leader = new GroupLeader(link, cluster, logger, options)
  const entry = new GroupEntry(link, leader, runtime, options, entrant)
  return { entry, entrant, asked, logger }
}

describe('an attempt to enter', () => {
  test('answers what is ours of what was given, and the place it was given for', async () => {
    const { entry, entrant, logger } = entering(joined, synced)
    expect(await entry.attempt()).toEqual({
      outcome: 'ENTERED',
      partitions: [
        { topic: 'mine', partition: 1 },
        { topic: 'mine', partition: 2 },
      ],
    })
    expect(entrant.membership).toEqual({ memberId: 'me', generationId: 5 })
    expect(entrant.proofs).toBe(2)
    expect(logger.lines.map(({ level }) => level)).toEqual(['ERROR'])
  })

  test.each([
    { code: errorCode.REBALANCE_IN_PROGRESS, outcomes: ['AGAIN', 'LATER'] },
    { code: errorCode.MEMBER_ID_REQUIRED, outcomes: ['AGAIN', 'LATER'] },
    { code: errorCode.UNKNOWN_MEMBER_ID, outcomes: ['LOST', 'LOST'] },
    { code: errorCode.ILLEGAL_GENERATION, outcomes: ['LOST', 'LOST'] },
    { code: errorCode.NOT_COORDINATOR, outcomes: ['LATER', 'LATER'] },
    { code: errorCode.COORDINATOR_LOAD_IN_PROGRESS, outcomes: ['LATER', 'LATER'] },
  ])('a join that is refused with $code ends in $outcomes', async ({ code, outcomes }) => {
    const refused = { ...joined, errorCode: code }
    const { entry, entrant } = entering(refused, refused)
    expect([await entry.attempt(), await entry.attempt()]).toEqual(outcomes.map((outcome) => ({ outcome })))
    expect(entrant.membership.generationId).toBe(-1)
    expect(entrant.proofs).toBe(0)
  })

  test('a refusal that is expected once is expected again after a generation', async () => {
    const again = refusedSync(errorCode.REBALANCE_IN_PROGRESS)
    const { entry } = entering(joined, again, joined, synced, joined, again)
    const outcomes = []
    for (let turn = 0; turn < 3; turn++) outcomes.push((await entry.attempt()).outcome)
    expect(outcomes).toEqual(['AGAIN', 'ENTERED', 'AGAIN'])
  })

  test('an id that has to be asked with is kept for the next attempt', async () => {
    const { entry, entrant } = entering({ ...joined, errorCode: errorCode.MEMBER_ID_REQUIRED, memberId: 'given' })
    await entry.attempt()
    expect(entrant.membership).toEqual({ memberId: 'given', generationId: -1 })
  })

  test.each([
    { code: errorCode.GROUP_AUTHORIZATION_FAILED, kind: 'FATAL' },
    { code: errorCode.INCONSISTENT_GROUP_PROTOCOL, kind: 'FATAL' },
  ])('what no other attempt can change is an error: $code', async ({ code, kind }) => {
    await expect(entering({ ...joined, errorCode: code }).entry.attempt()).rejects.toMatchObject({ kind })
    await expect(entering(joined, refusedSync(code)).entry.attempt()).rejects.toMatchObject({ kind })
  })

  test('a member that is fenced before its first generation joins once more, without an id', async () => {
    const fenced = refusedSync(errorCode.FENCED_INSTANCE_ID)
    const { entry, entrant } = entering(joined, fenced, joined, fenced)
    expect(await entry.attempt()).toEqual({ outcome: 'LATER' })
    expect(entrant.membership).toEqual({ memberId: '', generationId: -1 })
    await expect(entry.attempt()).rejects.toMatchObject({ kind: 'FENCED' })
  })

  test('each generation allows it to join without an id once more', async () => {
    const fenced = refusedSync(errorCode.FENCED_INSTANCE_ID)
    const { entry, entrant } = entering(joined, fenced, joined, synced, { ...joined, memberId: 'next' }, fenced)
    const outcomes = []
    for (let turn = 0; turn < 3; turn++) outcomes.push((await entry.attempt()).outcome)
    expect(outcomes).toEqual(['LATER', 'ENTERED', 'LATER'])
    expect(entrant.membership.memberId).toBe('')
  })

  test('a member of a generation that is fenced was replaced by another one', async () => {
    const { entry } = entering(joined, synced, { ...joined, errorCode: errorCode.FENCED_INSTANCE_ID })
    await entry.attempt()
    await expect(entry.attempt()).rejects.toMatchObject({ kind: 'FENCED' })
  })

  test('a member without an id that is fenced was replaced by another one', async () => {
    const { entry } = entering({ ...joined, errorCode: errorCode.FENCED_INSTANCE_ID })
    await expect(entry.attempt()).rejects.toMatchObject({ kind: 'FENCED' })
  })

  test('sends no request once it is given up', async () => {
    const { entry, entrant, asked } = entering(joined, synced)
    entrant.hasGivenUp = true
    expect(await entry.attempt()).toEqual({ outcome: 'GIVEN_UP' })
    expect(asked).toEqual([])
  })
})
