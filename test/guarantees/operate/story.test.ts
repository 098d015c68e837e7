import { systemClock } from '@waybill/core/internal'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { report } from '../support/scale.ts'
import { type Answered, OperatedService, patient } from './support/operated-service.ts'
import type { Order } from './support/operated-task.ts'

const incident = 'INC-311'

let orders = 0
const draw = (count: number, given: Partial<Order> = {}): Order[] =>
  Array.from({ length: count }, () => ({ order: `o-${++orders}`, carrier: 'south', total: 1_000 + orders, ...given }))

/** Returns the failure group of an error class. */
async function groupOf(service: OperatedService, exception: string, count: number): Promise<Answered['body']> {
  const { items } = await service.until('/dead-letters/groups?since=PT1H&sort=count', (found) => {
    const group = found.items.find((one: { exception: string }) => one.exception === exception)
    expect(group?.count).toBe(String(count))
  })
  return items.find((one: { exception: string }) => one.exception === exception)
}

describeWith('kafka', 'postgres')('three instances that are operated by REST alone', ({ kafka: place, postgres }) => {
  test('a deploy breaks a handler, and 500 dead letters are found, tried, replayed, edited and purged', {
    timeout: 600_000,
  }, async () => {
    await using kafka = createKafkaClient({ brokers: place.bootstrap })
    const database = { dialect: 'postgres', url: postgres.url } as const
    await using service = await OperatedService.create(place, kafka, database)
    await service.deploy('1.8.0')
    await service.write([...draw(50), ...draw(20, { carrier: 'north' }), ...draw(10, { total: 19.99 })])

    // 1. A version breaks two kinds of orders.
    await service.deploy('1.8.1')
    const north = draw(400, { carrier: 'north' })
    const fractions = draw(100).map((order, index) => ({ ...order, total: index + 0.5 }))
    await service.write([...north.slice(0, 200), ...draw(50), ...fractions, ...draw(50), ...north.slice(200)])

    // 2. Two groups of failures, largest first. A viewer sees them without payloads, and changes nothing.
    const carrier = await groupOf(service, 'CarrierError', 400)
    const total = await groupOf(service, 'TotalError', 100)
    expect(carrier).toMatchObject({ binding: 'shipping', state: 'OPEN', replayed: '0' })
    expect(carrier.message.text).toBe('# from the carrier for order o-#')
    expect(carrier.frame).toContain('operated-process.ts')
    const { body: facets } = await service.ask('GET', '/dead-letters/facets?by=exception,state&since=PT1H')
    expect(facets.facets.exception.values).toEqual([
      { value: 'CarrierError', count: '400' },
      { value: 'TotalError', count: '100' },
    ])
    const seen = await service.ask('GET', '/dead-letters/groups', { by: 'ben' })
    expect(seen.body.items[0].message).toMatchObject({ hidden: true })
    const replay = {
      type: 'REPLAY',
      binding: 'shipping',
      filter: { group: carrier.group, since: 'PT1H' },
      rate: 60,
      // oxlint-disable-next-line unicorn/no-thenable -- a word of the API, never a function
      canary: { count: 5, settleMs: 60_000, then: 'PAUSE' },
      abortWhen: { failureRate: 0.05, minimum: 20 },
      reason: `${incident}: fixed in 1.8.2`,
    }
    const refused = await service.ask('POST', '/operations', { by: 'ben', body: replay })
    expect([refused.status, refused.body.permission]).toEqual([403, 'dlt:replay'])

    // 3. Paused everywhere, also in the instances of the next version, until they are told to resume.
    const paused = await service.ask('POST', '/bindings/shipping/pause', { body: { reason: incident } })
    expect(paused.body).toMatchObject({ scope: 'FLEET', outcome: 'APPLIED' })
    expect(paused.body.instances).toHaveLength(3)
    await service.write(draw(30))
    const before = service.handled().length
    await service.deploy('1.8.2')
    await service.until('/bindings/shipping', ({ instances, state }) => {
      expect([instances, state]).toEqual([{ alive: 3, running: 0, paused: 3, other: 0 }, 'PAUSED'])
    })
    await service.until('/instances', ({ items }) => {
      const alive = items.filter((one: { alive: boolean }) => one.alive)
      expect(alive.map((one: { instance: string; version: string }) => [one.instance, one.version]).toSorted()).toEqual(
        service.names.map((name) => [name, '1.8.2']),
      )
    })
    expect(service.handled()).toHaveLength(before)
    const resumed = await service.ask('POST', '/bindings/shipping/resume', { body: { reason: incident } })
    expect(resumed.body.instances.map((one: { state: string }) => one.state)).toEqual(['RUNNING', 'RUNNING', 'RUNNING'])

    // 4. Planned, then five letters first.
    const planned = await service.ask('POST', '/operations?dryRun=true', { body: replay })
    expect([planned.status, planned.body.state, planned.body.plan.eligible]).toEqual([201, 'PLANNED', '400'])
    const { id } = planned.body
    const at = `/operations/${id}`
    await service.ask('POST', `${at}/start`, { body: { reason: incident } })
    const tried = await service.until(at, ({ state }) => expect(state).toBe('PAUSED'))
    expect(tried).toMatchObject({ pausedBy: 'CANARY', progress: { sent: '5' }, outcomes: { succeeded: '5' } })

    // 5. The rest at a rate. The instance that sends is killed in the middle of it, with orders under way.
    await service.ask('POST', `${at}/resume`, { body: { reason: incident } })
    const { runner } = await service.until(at, ({ progress }) => expect(Number(progress.sent)).toBeGreaterThan(100))
    await service.write(draw(50))
    await service.kill(runner)
    const done = await service.until(at, ({ state }) => expect(state).toBe('DONE'))
    await service.start(runner, '1.8.2')
    expect(done).toMatchObject({
      takeovers: 1,
      durable: true,
      progress: { sent: '400', refused: {}, remaining: '0' },
      outcomes: { failedAgain: '0' },
    })
    expect(done.runner === null || done.runner !== runner).toBe(true)

    // Repeats are those that it reports, one by one.
    const letters = await service.all(`/dead-letters?group=${carrier.group}`)
    const orderOf = new Map(letters.map((one) => [one.id, one.key.text]))
    expect(new Set(orderOf.values())).toEqual(new Set(north.map(({ order }) => order)))
    const reported = await service.all(`${at}/items?outcome=MAY_REPEAT`)
    const mayBeRepeated = Number(done.outcomes.mayBeRepeated)
    expect(reported).toHaveLength(mayBeRepeated)
    const copies = Map.groupBy(await service.copiesOf(id), (order) => order)
    expect(new Set(copies.keys())).toEqual(new Set(north.map(({ order }) => order)))
    const repeated = [...copies].filter(([, all]) => all.length > 1).map(([order]) => order)
    const known = new Set(reported.map((item) => orderOf.get(item.id)))
    expect(repeated.filter((order) => !known.has(order))).toEqual([])
    expect([...copies.values()].every((all) => all.length <= 2)).toBe(true)

    // 6. One letter of the other group is corrected. The rest of it is given up, with a note.
    const [bad] = (await service.ask('GET', `/dead-letters?group=${total.group}&limit=1`)).body.items
    const letter = await service.ask('GET', `/dead-letters/${bad.id}`)
    const version = { 'if-match': letter.headers.get('etag') ?? '' }
    const wrong = JSON.parse(letter.body.value.text) as Order
    const corrected = { ...wrong, total: 1_999 }
    const edit = { headers: version, body: { value: JSON.stringify(corrected), reason: incident } }
    const compared = await service.ask('POST', `/dead-letters/${bad.id}/edit?dryRun=true`, edit)
    expect(compared.body.diff).toEqual([{ path: '$.total', from: String(wrong.total), to: '1999' }])
    const edited = await service.ask('POST', `/dead-letters/${bad.id}/edit`, edit)
    expect([edited.status, edited.body]).toMatchObject([200, { replayed: 1 }])
    const again = await service.ask('POST', `/dead-letters/${bad.id}/edit`, edit)
    expect([again.status, again.body.code]).toEqual([409, 'WAYBILL_DEAD_LETTER_CHANGED'])
    await eventually(
      () => expect(service.handled()).toContainEqual(expect.objectContaining({ order: wrong.order, total: 1_999 })),
      patient,
    )
    const note = { state: 'RESOLVED', note: 'given back to their customers', reason: incident }
    expect((await service.ask('PATCH', `/dead-letters/groups/${total.group}`, { body: note })).body.state).toBe(
      'RESOLVED',
    )

    // 7. What is older than the last letter of the incident is purged; a newer one stays, and opens its group again.
    const [newest] = (await service.ask('GET', '/dead-letters?limit=1')).body.items
    await service.write(draw(1, { total: 0.1 }))
    const { lastAt, state } = await groupOf(service, 'TotalError', 101)
    expect(state).toBe('OPEN')
    const between = (Date.parse(newest.deadAt) + Date.parse(lastAt)) / 2
    expect(Date.parse(lastAt) - between).toBeGreaterThan(1_000)
    const purge = async (parameters: string): Promise<Answered> =>
      service.ask(
        'DELETE',
        `/bindings/shipping/dlt?olderThan=PT${Math.floor((systemClock.now() - between) / 1_000)}S${parameters}`,
        { headers: { 'waybill-reason': incident } },
      )
    expect((await purge('&dryRun=true')).body).toMatchObject({ dryRun: true, purged: '500' })
    expect((await purge('')).body).toMatchObject({ purged: '500' })
    await service.until('/dead-letters', ({ items }) => expect(items).toHaveLength(1))

    // 8. Nothing is lost: all but those that were given up, and the one that is still dead, were handled.
    const given = new Set([...fractions.map(({ order }) => order), `o-${orders}`])
    given.delete(wrong.order)
    await eventually(() => {
      const handled = new Set(service.handled().map(({ order }) => order))
      expect(service.written.map(({ order }) => order).filter((order) => !handled.has(order))).toEqual(
        service.written.map(({ order }) => order).filter((order) => given.has(order)),
      )
    }, patient)

    // 9. The audit log tells it all.
    const entries = await service.all('/audit?binding=shipping')
    const told = entries
      .filter(({ via }) => via === 'REST')
      .toReversed()
      .map(({ by, operation, outcome, reason }) => [by, operation, outcome, reason].join(' '))
    expect(told).toEqual([
      'ben CREATE_OPERATION REFUSED INC-311: fixed in 1.8.2',
      'ana PAUSE DONE INC-311',
      'ana RESUME DONE INC-311',
      'ana CREATE_OPERATION DONE INC-311: fixed in 1.8.2',
      'ana START_OPERATION DONE INC-311',
      'ana RESUME_OPERATION DONE INC-311',
      'ana PAYLOAD_READ DONE ',
      'ana CREATE_OPERATION DONE INC-311',
      'ana TRIAGE DONE INC-311',
      'ana CREATE_OPERATION DONE INC-311',
    ])
    // The effects of the operations. That of the process that was killed has no outcome.
    const effects = entries
      .filter(({ via }) => via === null)
      .toReversed()
      .map(({ by, operation, outcome }) => [by, operation, outcome].join(' '))
    expect(effects).toEqual([
      'ana REPLAY DONE',
      'ana REPLAY ASKED',
      'ana REPLAY DONE',
      'ana EDIT_REPLAY DONE',
      'ana PURGE DONE',
    ])
    report(`story: ${mayBeRepeated} letters may have been sent twice, ${repeated.length} were`)
  })
})
