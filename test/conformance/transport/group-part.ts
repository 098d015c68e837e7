import assert from 'node:assert/strict'
import type { Buffer } from 'node:buffer'
import { decodeSubscription } from '@waybill/kafka/wire'
import type { KafkaSuite } from '../kafka-harness.ts'
import { enterGroup, enterGroupTogether, shareOut, WireMember } from './group-requests.ts'
import type { WireClient } from './wire-client.ts'

/** Tests of consumer groups in the classic protocol: join, sync, heartbeat and leave. */
export function groupPart(suite: KafkaSuite<WireClient>): void {
  suite.describe('JoinGroup', () => joinTests(suite))
  suite.describe('SyncGroup', () => syncTests(suite))
  suite.describe('Heartbeat', () => heartbeatTests(suite))
  suite.describe('a member that goes', () => leaveTests(suite))
  suite.describe('a static member', () => staticTests(suite))
}

/** The shortest session timeout that the brokers of our tests allow. */
const shortSessionMs = 1_000

function wantedIn(metadata: Buffer): string {
  return decodeSubscription(metadata).topics.join()
}

function joinTests({ test }: KafkaSuite<WireClient>): void {
  test('gives a dynamic member an id first, then a generation; who comes first leads', async (wire) => {
    const member = new WireMember(wire, wire.named('first'))
    const refused = await member.join()
    assert.deepEqual([refused.error, refused.members], ['MEMBER_ID_REQUIRED', []])
    assert.match(refused.memberId, /^conformance-[0-9a-f-]{36}$/i)
    const joined = await member.join()
    assert.equal(joined.error, 'NONE')
    assert.deepEqual(
      [joined.generationId, joined.protocolName, joined.leader, joined.memberId, joined.skipAssignment],
      [1, 'range', refused.memberId, refused.memberId, false],
    )
    assert.deepEqual(
      joined.members.map(({ memberId, groupInstanceId, metadata }) => [memberId, groupInstanceId, wantedIn(metadata)]),
      [[refused.memberId, null, 'wanted']],
    )
  })

  test('waits until all members have joined again, and lists them for the leader alone', async (wire) => {
    const leader = await enterGroup(wire, 'again')
    const follower = new WireMember(wire, leader.groupId)
    const entering = follower.enter()
    await leader.untilRebalance()
    const [led, followed] = await Promise.all([leader.join(), entering])
    assert.deepEqual([led.generationId, followed.generationId], [2, 2])
    assert.deepEqual([led.leader, followed.leader], [leader.memberId, leader.memberId])
    assert.deepEqual([led.members.length, followed.members.length], [2, 0])
  })

  test('refuses a member that the group does not know', async (wire) => {
    const member = new WireMember(wire, wire.named('stranger'))
    member.memberId = 'stranger'
    assert.equal((await member.join()).error, 'UNKNOWN_MEMBER_ID', 'also where there is no group')
    const other = await enterGroup(wire, 'stranger')
    assert.equal((await member.join()).error, 'UNKNOWN_MEMBER_ID')
    assert.equal(await other.heartbeat(), 'NONE')
  })

  test('refuses a protocol that the others do not speak', async (wire) => {
    const { groupId } = await enterGroup(wire, 'protocol')
    const stranger = new WireMember(wire, groupId)
    assert.equal((await stranger.join({ protocols: ['other'] })).error, 'INCONSISTENT_GROUP_PROTOCOL')
    assert.equal((await stranger.join({ protocolType: 'connect' })).error, 'INCONSISTENT_GROUP_PROTOCOL')
    assert.equal((await stranger.join({ protocols: [] })).error, 'INCONSISTENT_GROUP_PROTOCOL')
  })

  test('refuses a session shorter than the broker allows, and a group without a name', async (wire) => {
    const member = new WireMember(wire, wire.named('session'))
    assert.equal((await member.join({ sessionTimeoutMs: 1 })).error, 'INVALID_SESSION_TIMEOUT')
    assert.equal((await new WireMember(wire, '').join()).error, 'INVALID_GROUP_ID')
  })

  test('of a follower that says nothing new disturbs nobody; of the leader it begins a generation', async (wire) => {
    const [leader, follower] = await enterGroupTogether(wire, 'repeated')
    const repeated = await follower.join()
    assert.deepEqual([repeated.error, repeated.generationId, repeated.members], ['NONE', 2, []])
    assert.equal(await leader.heartbeat(), 'NONE')
    const joining = leader.join()
    await follower.untilRebalance()
    await Promise.all([joining, follower.join()])
    assert.deepEqual([leader.generationId, follower.generationId], [3, 3])
  })

  test('of a follower that wants something else begins a generation', async (wire) => {
    const [leader, follower] = await enterGroupTogether(wire, 'changed')
    const joining = follower.join({ topics: ['wanted', 'more'] })
    await leader.untilRebalance()
    const led = await leader.join()
    await joining
    assert.deepEqual([leader.generationId, follower.generationId], [3, 3])
    assert.deepEqual(led.members.map(({ metadata }) => wantedIn(metadata)).toSorted(), ['wanted', 'wanted,more'])
  })

  test('waits no longer for a member than its rebalance timeout', async (wire) => {
    const straggler = await enterGroup(wire, 'straggler', { rebalanceTimeoutMs: shortSessionMs })
    const other = new WireMember(wire, straggler.groupId, { rebalanceTimeoutMs: shortSessionMs })
    const joined = await other.enter()
    assert.deepEqual([joined.generationId, joined.leader, joined.members.length], [2, other.memberId, 1])
    assert.equal(await straggler.heartbeat(), 'UNKNOWN_MEMBER_ID')
  })
}

function syncTests({ test }: KafkaSuite<WireClient>): void {
  test('waits for the leader, and gives each member what the leader gave it', async (wire) => {
    const [leader, follower] = await enterGroupTogether(wire, 'sync')
    assert.deepEqual([await leader.sync(), await follower.sync()], ['half', 'other half'], 'also when asked again')
  })

  test('refuses who is of another generation or unknown, and who comes while others join', async (wire) => {
    const member = await enterGroup(wire, 'sync-refused')
    member.generationId--
    assert.equal(await member.sync(), 'ILLEGAL_GENERATION')
    member.generationId++
    const { memberId } = member
    member.memberId = 'stranger'
    assert.equal(await member.sync(), 'UNKNOWN_MEMBER_ID')
    member.memberId = memberId
    const other = new WireMember(wire, member.groupId)
    const entering = other.enter()
    await member.untilRebalance()
    assert.equal(await member.sync(), 'REBALANCE_IN_PROGRESS')
    await Promise.all([member.join(), entering])
  })

  test('that waits is ended by the next rebalance', async (wire) => {
    const [leader, follower] = await enterGroupTogether(wire, 'sync-ended')
    const joining = leader.join()
    await follower.untilRebalance()
    await Promise.all([joining, follower.join()])
    const waiting = follower.sync()
    // The response is the same whether the request is already pending or arrives too late.
    const third = new WireMember(wire, leader.groupId)
    const entering = third.enter()
    assert.equal(await waiting, 'REBALANCE_IN_PROGRESS')
    await Promise.all([leader.join(), follower.join(), entering])
    assert.equal(leader.generationId, 4)
  })
}

function heartbeatTests({ test }: KafkaSuite<WireClient>): void {
  test('is fine in a stable group, and refused from another generation or a stranger', async (wire) => {
    const member = await enterGroup(wire, 'beat')
    assert.equal(await member.heartbeat(), 'NONE')
    assert.equal(await member.heartbeat({ generationId: 0 }), 'ILLEGAL_GENERATION')
    assert.equal(await member.heartbeat({ generationId: 2 }), 'ILLEGAL_GENERATION')
    assert.equal(await member.heartbeat({ memberId: 'stranger' }), 'UNKNOWN_MEMBER_ID')
    const nowhere = new WireMember(wire, wire.named('beat-nowhere'))
    assert.equal(await nowhere.heartbeat({ memberId: 'stranger', generationId: 1 }), 'UNKNOWN_MEMBER_ID')
  })

  test('tells the old generation that others join, and is fine while the leader assigns', async (wire) => {
    const leader = await enterGroup(wire, 'beat-states')
    const follower = new WireMember(wire, leader.groupId)
    const entering = follower.enter()
    await leader.untilRebalance()
    assert.equal(await leader.heartbeat(), 'REBALANCE_IN_PROGRESS', 'while the group prepares')
    await Promise.all([leader.join(), entering])
    assert.deepEqual([await leader.heartbeat(), await follower.heartbeat()], ['NONE', 'NONE'], 'while it completes')
    assert.equal(await leader.heartbeat({ generationId: 1 }), 'ILLEGAL_GENERATION')
    await shareOut(leader, follower)
    assert.deepEqual([await leader.heartbeat(), await follower.heartbeat()], ['NONE', 'NONE'])
  })
}

function leaveTests({ test }: KafkaSuite<WireClient>): void {
  test('by LeaveGroup is gone at once, and the others join again', async (wire) => {
    const [leader, follower] = await enterGroupTogether(wire, 'leave')
    assert.equal(await leader.leave(), 'NONE')
    assert.equal(await leader.leave(), 'UNKNOWN_MEMBER_ID')
    assert.equal(await leader.heartbeat(), 'UNKNOWN_MEMBER_ID')
    assert.equal(await follower.heartbeat(), 'REBALANCE_IN_PROGRESS')
    const joined = await follower.join()
    assert.deepEqual([joined.generationId, joined.leader], [3, follower.memberId])
  })

  test('by silence is gone when its session ends, and so is its word', async (wire) => {
    const { name } = await wire.createTopic('silence')
    const silent = await enterGroup(wire, 'silence', { sessionTimeoutMs: shortSessionMs })
    const other = new WireMember(wire, silent.groupId)
    const joined = await other.enter()
    assert.deepEqual([joined.generationId, joined.members.length], [2, 1])
    await other.sync({ [other.memberId]: 'all' })
    assert.equal(await silent.heartbeat(), 'UNKNOWN_MEMBER_ID')
    assert.equal(await silent.commit(name, 5n), 'UNKNOWN_MEMBER_ID')
    assert.equal((await silent.join()).error, 'UNKNOWN_MEMBER_ID')
    assert.equal(await silent.leave(), 'UNKNOWN_MEMBER_ID')
  })
}

function staticTests({ test }: KafkaSuite<WireClient>): void {
  const instanceId = 'place-1'

  test('needs no id to join', async (wire) => {
    const member = new WireMember(wire, wire.named('static'), { instanceId })
    const joined = await member.join()
    assert.deepEqual([joined.error, joined.generationId, joined.leader], ['NONE', 1, joined.memberId])
    assert.match(joined.memberId, /^place-1-/)
    assert.deepEqual(
      joined.members.map(({ groupInstanceId }) => groupInstanceId),
      [instanceId],
    )
  })

  test('that comes back gets what it had, and nobody is disturbed', async (wire) => {
    const [leader, former] = await enterGroupTogether(wire, 'back', {}, { instanceId })
    const latter = new WireMember(wire, leader.groupId, { instanceId })
    const joined = await latter.join()
    assert.deepEqual([joined.error, joined.generationId, joined.leader], ['NONE', 2, leader.memberId])
    assert.notEqual(joined.memberId, former.memberId)
    assert.equal(await latter.sync(), 'other half')
    assert.deepEqual([await leader.heartbeat(), await latter.heartbeat()], ['NONE', 'NONE'])
  })

  test('that leads and comes back leads again, and need not assign', async (wire) => {
    const [former, follower] = await enterGroupTogether(wire, 'leader-back', { instanceId }, {})
    const latter = new WireMember(wire, former.groupId, { instanceId })
    const joined = await latter.join()
    assert.deepEqual(
      [joined.error, joined.generationId, joined.leader, joined.skipAssignment, joined.members.length],
      ['NONE', 2, joined.memberId, true, 2],
    )
    assert.equal(await latter.sync(), 'half')
    assert.equal(await follower.heartbeat(), 'NONE')
  })

  test('that was replaced is fenced in everything', async (wire) => {
    const { name } = await wire.createTopic('replaced')
    const former = await enterGroup(wire, 'replaced', { instanceId })
    const latter = new WireMember(wire, former.groupId, { instanceId })
    await latter.join()
    assert.equal(await former.heartbeat(), 'FENCED_INSTANCE_ID')
    assert.equal(await former.commit(name, 5n), 'FENCED_INSTANCE_ID')
    assert.equal(await former.sync(), 'FENCED_INSTANCE_ID')
    assert.equal(await former.leave(), 'FENCED_INSTANCE_ID')
    assert.equal((await former.join()).error, 'FENCED_INSTANCE_ID')
    const nameless = new WireMember(wire, former.groupId)
    Object.assign(nameless, { memberId: former.memberId, generationId: former.generationId })
    assert.equal(await nameless.commit(name, 5n), 'UNKNOWN_MEMBER_ID', 'without its instance id')
    assert.equal(await latter.commit(name, 5n), 'NONE')
  })

  test('that is replaced while it waits to join is told so', async (wire) => {
    const [leader, former] = await enterGroupTogether(wire, 'replaced-waiting', {}, { instanceId })
    const waiting = former.join({ topics: ['wanted', 'more'] })
    await leader.untilRebalance()
    const latter = new WireMember(wire, leader.groupId, { instanceId })
    const joining = latter.join()
    assert.equal((await waiting).error, 'FENCED_INSTANCE_ID')
    const [led, joined] = await Promise.all([leader.join(), joining])
    assert.deepEqual([led.generationId, joined.generationId, led.members.length], [3, 3, 2])
  })

  test('keeps its place in a rebalance that it misses, until its session ends', async (wire) => {
    const shortly = { rebalanceTimeoutMs: shortSessionMs }
    const [leader, absent] = await enterGroupTogether(wire, 'missed', shortly, { instanceId, ...shortly })
    const joined = await leader.join()
    assert.deepEqual([joined.generationId, joined.members.length], [3, 2])
    assert.equal(await absent.heartbeat({ generationId: 3 }), 'NONE')
  })

  test('can be removed by its instance id alone', async (wire) => {
    const member = await enterGroup(wire, 'removed', { instanceId })
    const answer = await wire.send('LeaveGroup', {
      groupId: member.groupId,
      members: [{ memberId: '', groupInstanceId: instanceId, reason: 'an operator' }],
    })
    assert.deepEqual(answer.members, [{ memberId: '', groupInstanceId: instanceId, errorCode: 0 }])
    assert.equal(await member.heartbeat(), 'UNKNOWN_MEMBER_ID')
  })
}
