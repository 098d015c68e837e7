/** A token with a single permission reaches exactly the routes below, whatever the routes themselves declare. */
import { systemRuntime } from '@waybill/core'
import { defineTopology } from '@waybill/kafka'
import { createMemoryProjectionStore } from '@waybill/projection'
import { expect, test } from 'vitest'
import { type AdminPermission, allPermissions } from '../../src/access/permission.ts'
import { adminWorld } from '../support/admin-world.ts'
import { sqliteOutbox } from '../support/sqlite-outbox.ts'

/** Without an identity. */
const open = ['getLiveness', 'getReadiness', 'getStartup']

/** With an identity, whatever it may do: what they answer depends on its permissions. */
const forAll = ['getMe', 'getOpenApi', 'getStream']

/** Of one's own operations, and with operations:control. */
const ofOwner = ['pauseOperation', 'resumeOperation', 'cancelOperation', 'changeOperation']

/** The plan of another operator, with operations:control and the permission of its type. */
const ofBoth = ['startOperation']

const reached: Readonly<Partial<Record<AdminPermission, readonly string[]>>> = {
  'bindings:read': [
    'listBindings',
    'getBinding',
    'getBindingConfiguration',
    'listPartitions',
    'getPipeline',
    'getSeries',
    'getTotalSeries',
    'getLossAudit',
    'getMetrics',
    'getHealth',
    'listInstances',
  ],
  'bindings:operate': ['startBinding', 'stopBinding', 'pauseBinding', 'resumeBinding'],
  'bindings:register': ['registerBinding', 'destroyBinding'],
  'bindings:position': ['seekPosition', 'skipRecords', 'resetPositions'],
  'losses:acknowledge': ['acknowledgeLosses'],
  'dlt:read': [
    'getDltStats',
    'listFailureGroups',
    'getFailureGroup',
    'listDeadLetters',
    'countDeadLetters',
    'getDeadLetter',
    'scanDeadLetters',
  ],
  'dlt:triage': ['triageFailureGroup', 'createOperation INDEX_REBUILD'],
  'dlt:edit': ['editDeadLetter'],
  'payloads:read': ['downloadDeadLetter'],
  'dlt:replay': ['replayDlt', 'replayToTier', 'createOperation REPLAY', 'createOperation REPLAY_TO_TIER'],
  'dlt:release': ['releaseDlt', 'createOperation RELEASE'],
  'dlt:purge': ['purgeDlt', 'createOperation PURGE'],
  'outbox:read': ['listOutboxes', 'getOutbox', 'listDeadEvents', 'getOutboxEvent', 'listBlockers'],
  'outbox:replay': ['replayDeadEvent', 'createOperation OUTBOX_REPLAY'],
  'outbox:purge': ['createOperation OUTBOX_PURGE'],
  'projections:read': ['listProjections', 'getProjection', 'listQuarantine'],
  'projections:rebuild': ['createOperation PROJECTION_REBUILD'],
  'topics:read': ['listTopics', 'planTopology', 'listSchemas'],
  'topics:apply': ['applyTopology'],
  'groups:read': ['listGroups', 'getGroup'],
  'operations:read': ['listOperations', 'getOperation', 'listOperationItems'],
  'operations:control': ofOwner,
  'audit:read': ['listAuditEntries'],
}

const bodies: Readonly<Record<string, object>> = {
  changeOperation: { rate: 1 },
  editDeadLetter: { value: 'x' },
  triageFailureGroup: { state: 'OPEN' },
  'createOperation REPLAY': { type: 'REPLAY', binding: 'shipping', filter: {} },
  'createOperation REPLAY_TO_TIER': { type: 'REPLAY_TO_TIER', binding: 'shipping', filter: {}, tier: 1 },
  'createOperation RELEASE': { type: 'RELEASE', binding: 'shipping', filter: {} },
  'createOperation PURGE': { type: 'PURGE', binding: 'shipping', olderThan: 'P7D' },
  'createOperation OUTBOX_REPLAY': { type: 'OUTBOX_REPLAY', outbox: 'orders' },
  'createOperation OUTBOX_PURGE': { type: 'OUTBOX_PURGE', outbox: 'orders', olderThan: 'P7D' },
  'createOperation INDEX_REBUILD': { type: 'INDEX_REBUILD', binding: 'shipping' },
  'createOperation PROJECTION_REBUILD': { type: 'PROJECTION_REBUILD', projection: 'balances' },
}

test('a token with each single permission reaches exactly its routes', { timeout: 120_000 }, async () => {
  using rows = await sqliteOutbox([], systemRuntime)
  const eventId = await rows.write('DEAD')
  const access = Object.fromEntries(allPermissions.map((permission) => [permission, { [permission]: true }]))
  const admin = {
    outboxes: { orders: rows.outbox },
    projections: { balances: { projection: { name: 'balances', revision: 1 }, store: createMemoryProjectionStore() } },
    // Otherwise the route of edits refuses everybody.
    editing: { headers: 'CUSTOM' } as const,
    topologies: { default: defineTopology({ environment: 'DEV', topics: [{ name: 'orders', partitions: 2 }] }) },
  }
  await adminWorld({ access, admin }, async (world) => {
    // Not started: it would poll while time passes here.
    const { runtime, ask } = world
    const { body: operation } = await ask('POST', '/eventbus/operations?dryRun=true', {
      body: bodies['createOperation REPLAY'],
    })
    const params: Readonly<Record<string, string>> = {
      id: operation.id,
      outbox: 'orders',
      eventId,
      groupId: 'shipping',
      group: '000000000000',
    }
    const requests = Object.entries(world.admin.openApi().paths).flatMap(([path, methods]) => {
      const url = path.replace(/\{(\w+)\}/g, (_, name: string) =>
        name === 'name' ? (path.includes('/projections/') ? 'balances' : 'shipping') : (params[name] ?? 'x'),
      )
      return Object.entries(methods).flatMap(([method, { operationId }]) => {
        const id = String(operationId)
        const names = id === 'createOperation' ? Object.keys(bodies).filter((one) => one.startsWith(id)) : [id]
        return names.map((name) => ({ name, method: method.toUpperCase(), url, body: bodies[name] }))
      })
    })
    const known = new Set([...open, ...forAll, ...ofBoth, ...Object.values(reached).flat()])
    expect(requests.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([])
    for (const permission of allPermissions) {
      const found: string[] = []
      for (const { name, method, url, body } of requests) {
        // Checked alone: a change that is allowed must not hide what the next one may do.
        const query = method === 'GET' ? '' : '?dryRun=true'
        const leave = new AbortController()
        const status = await statusOf(permission, method, `${url}${query}`, body, leave)
        if (status !== 403) found.push(name)
      }
      const expected = [...open, ...forAll, ...(reached[permission] ?? [])]
      expect({ permission, routes: found.toSorted() }).toEqual({ permission, routes: expected.toSorted() })
    }
    for (const { name, method, url, body } of requests) {
      const status = await statusOf('', method, url, body, new AbortController())
      expect([name, status === 401]).toEqual([name, !open.includes(name)])
    }

    async function statusOf(
      by: string,
      method: string,
      url: string,
      body: object | undefined,
      leave: AbortController,
    ): Promise<number> {
      // Each identity has its rate.
      await runtime.timers.sleep(250)
      const sent = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      const answer = await world.admin.handle(
        {
          method,
          url,
          remoteAddress: '10.0.0.9',
          headers: {
            ...(by === '' ? {} : { authorization: `Bearer ${by}` }),
            ...(sent === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': String(sent.length) }),
          },
        },
        sent === undefined ? undefined : chunksOf(sent),
        leave.signal,
      )
      if (typeof answer.body !== 'string' && !(answer.body instanceof Uint8Array)) {
        const chunks = answer.body[Symbol.asyncIterator]()
        await chunks.next()
        leave.abort()
        await chunks.return?.()
      }
      return answer.status
    }
  })
})

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes
}
