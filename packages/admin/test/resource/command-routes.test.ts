import { describe, expect, test } from 'vitest'
import { adminWorld } from '../support/admin-world.ts'

describe('a lifecycle command', () => {
  test('is answered per instance and has two lines in the audit log', () =>
    adminWorld({}, async ({ ask, connector, audit }) => {
      await connector.start()
      const answer = await ask('POST', '/eventbus/bindings/mail/pause', { body: { reason: 'INC-1' } })
      expect(answer).toMatchObject({
        status: 200,
        body: {
          scope: 'INSTANCE',
          outcome: 'APPLIED',
          instances: [{ instance: 'shop-0', outcome: 'APPLIED', state: 'PAUSED' }],
        },
      })
      expect(audit).toMatchObject([
        { operation: 'PAUSE', target: 'mail', by: 'ana', reason: 'INC-1', outcome: 'ASKED' },
        { operation: 'PAUSE', outcome: 'DONE' },
      ])
      await ask('POST', '/eventbus/bindings/mail/resume', { headers: { 'waybill-reason': 'gel%C3%B6st' } })
      expect(audit.at(-1)).toMatchObject({ operation: 'RESUME', reason: 'gelöst' })
      expect(await ask('POST', '/eventbus/bindings/mail/stop', { body: { deadlineMs: 1_000 } })).toMatchObject({
        status: 200,
      })
      expect(await ask('POST', '/eventbus/bindings/mail/start')).toMatchObject({ status: 200 })
      expect(connector.getState('mail')).toBe('RUNNING')
    }))

  test('that the state does not allow is a conflict', () =>
    adminWorld({}, async ({ ask }) => {
      for (const url of ['/eventbus/bindings/mail/resume', '/eventbus/bindings/mail/resume?dryRun=true'])
        expect(await ask('POST', url)).toMatchObject({
          status: 409,
          body: { code: 'WAYBILL_CONTAINER_STATE_INVALID', binding: 'mail', state: 'CREATED' },
        })
    }))

  test('changes nothing and leaves no audit entry in a dry run', () =>
    adminWorld({}, async ({ ask, connector, audit }) => {
      await connector.start()
      const answer = await ask('POST', '/eventbus/bindings/mail/pause?dryRun=true')
      expect(answer.body).toMatchObject({
        dryRun: true,
        outcome: 'PLANNED',
        instances: [{ instance: 'shop-0', state: 'RUNNING' }],
      })
      expect(connector.getState('mail')).toBe('RUNNING')
      expect(audit).toEqual([])
    }))

  test('needs the permission for that binding', () =>
    adminWorld({ access: { ben: { 'bindings:operate': ['mail'] } } }, async ({ ask, connector }) => {
      await connector.start()
      expect(await ask('POST', '/eventbus/bindings/shipping/pause', { by: 'ben' })).toMatchObject({ status: 404 })
      expect(await ask('POST', '/eventbus/bindings/mail/pause', { by: 'ben' })).toMatchObject({ status: 200 })
      expect(await ask('POST', '/eventbus/bindings/mail/resume', { by: 'carl' })).toMatchObject({
        status: 403,
        body: { code: 'WAYBILL_OPERATION_FORBIDDEN', permission: 'bindings:operate' },
      })
      expect(await ask('POST', '/eventbus/bindings/mail/resume', { by: '' })).toMatchObject({ status: 401 })
      expect(connector.getState('mail')).toBe('PAUSED')
    }))
})

describe('registration', () => {
  test('adds a binding and says where it is', () =>
    adminWorld({}, async ({ ask, connector }) => {
      await connector.start()
      const answer = await ask('POST', '/eventbus/bindings', {
        body: { name: 'returns', topic: 'mails', groupId: 'returns', handler: 'echo', retryTopicNaming: 'PER_GROUP' },
      })
      expect(answer.body.violations).toBeUndefined()
      expect(answer).toMatchObject({ status: 201, headers: { location: '/eventbus/bindings/returns' } })
      expect(connector.getState('returns')).toBe('RUNNING')
      expect(
        await ask('POST', '/eventbus/bindings', {
          body: { name: 'returns', topic: 'mails', groupId: 'returns', handler: 'echo', retryTopicNaming: 'PER_GROUP' },
        }),
      ).toMatchObject({
        status: 409,
        body: { code: 'WAYBILL_BINDING_EXISTS' },
      })
    }))

  test('of wrong properties tells all violations at once', () =>
    adminWorld({}, async ({ ask, connector }) => {
      const answer = await ask('POST', '/eventbus/bindings', {
        body: { name: 'returns', topic: 'mails', groupId: 'g', handler: 'echo', concurency: 3, maxAhead: -1 },
      })
      expect(answer).toMatchObject({ status: 422, body: { code: 'WAYBILL_OPTIONS_INVALID' } })
      expect(answer.body.violations.map(({ path }: { path: string }) => path).toSorted()).toEqual(
        expect.arrayContaining([expect.stringContaining('concurency'), expect.stringContaining('maxAhead')]),
      )
      expect(connector.listBindings().length).toBe(2)
    }))

  test('is undone by a destroy, which needs a reason', () =>
    adminWorld({}, async ({ ask, connector, audit }) => {
      expect(await ask('DELETE', '/eventbus/bindings/mail')).toMatchObject({
        status: 428,
        body: { code: 'WAYBILL_REASON_REQUIRED' },
      })
      expect(audit).toEqual([])
      expect(await ask('DELETE', '/eventbus/bindings/mail?dryRun=true')).toMatchObject({ status: 200 })
      expect(connector.listBindings().length).toBe(2)
      expect(await ask('DELETE', '/eventbus/bindings/mail', { headers: { 'waybill-reason': 'gone' } })).toMatchObject({
        status: 200,
      })
      expect(connector.listBindings().length).toBe(1)
    }))
})

describe('losses', () => {
  test('are acknowledged with a reason', () =>
    adminWorld({}, async ({ ask, connector }) => {
      await connector.start()
      const url = '/eventbus/bindings/shipping/losses/acknowledge'
      expect(await ask('POST', url, { body: { reason: 'seen', topic: 'orders' } })).toMatchObject({ status: 400 })
      expect(await ask('POST', url, { body: { reason: 'seen' } })).toMatchObject({
        status: 200,
        body: { acknowledged: [] },
      })
    }))
})
