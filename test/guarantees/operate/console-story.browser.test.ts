import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { scale } from '../support/scale.ts'
import { describeInBrowser } from './support/console-page.ts'
import { Hand } from './support/hand.ts'
import { OperatedService, patient } from './support/operated-service.ts'
import type { Order } from './support/operated-task.ts'

const incident = 'INC-311'
/** A process starts, a group rebalances: longer than a page takes. */
const slow = { timeout: 60_000 }

let orders = 0
const draw = (count: number, given: Partial<Order> = {}): Order[] =>
  Array.from({ length: count }, () => ({ order: `o-${++orders}`, carrier: 'south', total: 1_000 + orders, ...given }))

/** Sees two groups, notes what causes the larger one, and pauses the binding. */
async function findCause(hand: Hand): Promise<void> {
  const { page } = hand
  const dialog = page.getByRole('dialog')
  const carrier = page.getByRole('row', { name: /^CarrierError/ })
  await carrier.getByText('24', { exact: true }).waitFor(slow)
  await page
    .getByRole('row', { name: /^TotalError/ })
    .getByText('3', { exact: true })
    .waitFor(slow)
  await hand.press(carrier.getByRole('button', { name: /^Triage/ }), ['j', 'n'])
  await hand.fill(dialog.getByLabel('Note'), '502 since 1.8.1')
  await hand.press(dialog.getByRole('button', { name: 'Save' }))
  await dialog.waitFor({ state: 'detached', ...slow })
  await carrier.getByText('502 since 1.8.1').waitFor()
  await hand.press(carrier.getByRole('link'), ['Enter'])
  await page.getByRole('heading', { name: 'CarrierError' }).waitFor()
  await page.getByText('operated-process.ts').waitFor()
  await hand.press(page.getByRole('link', { name: 'Overview' }), ['g', 'o'])
  await hand.press(page.getByRole('button', { name: 'Pause shipping' }), ['j', 'p'])
  await hand.fill(dialog.getByLabel('Reason'), incident)
  await hand.press(dialog.getByRole('button', { name: 'Pause' }))
  await dialog.waitFor({ state: 'detached', ...slow })
  await page
    .getByRole('row', { name: /^shipping/ })
    .getByText('PAUSED')
    .waitFor(slow)
}

/** Resumes the binding, and replays the larger group: five first, then the others. */
async function replayGroup(hand: Hand): Promise<void> {
  const { page } = hand
  const dialog = page.getByRole('dialog')
  await page.getByText('3 instances, 1.8.2').waitFor(slow)
  const bindings = page.getByRole('region', { name: 'Bindings' })
  await hand.press(bindings.getByRole('button', { name: 'Resume shipping' }), ['j', 'p'])
  await hand.press(dialog.getByRole('button', { name: 'Resume' }))
  await dialog.waitFor({ state: 'detached', ...slow })
  await page
    .getByRole('row', { name: /^shipping/ })
    .getByText('RUNNING')
    .waitFor(slow)
  await hand.press(page.getByRole('link', { name: 'Failures' }), ['g', 'f'])
  const carrier = page.getByRole('row', { name: /^CarrierError/ })
  await hand.press(carrier.getByRole('link'), ['j', 'Enter'])
  await hand.press(page.getByRole('button', { name: 'Replay 24 matching…' }), ['r'])
  await dialog.getByText('24 can go').waitFor(slow)
  await hand.fill(dialog.getByLabel('Reason'), `${incident} fixed in 1.8.2`)
  await hand.press(dialog.getByRole('button', { name: 'Replay 5 first' }))
  await page.getByText('5 of 5 succeeded.').waitFor(slow)
  await hand.press(page.getByRole('button', { name: 'Resume' }), ['p'])
  await page.getByText('Done', { exact: true }).waitFor(slow)
  await page.getByText('24 of 24 sent').waitFor()
  await page.getByRole('listitem').filter({ hasText: '24 succeeded' }).waitFor(slow)
}

/** Corrects one letter of the other group, and gives up the rest of it, with a note. */
async function correctOne(hand: Hand): Promise<string> {
  const { page } = hand
  const dialog = page.getByRole('dialog')
  await hand.press(page.getByRole('link', { name: 'Failures' }), ['g', 'f'])
  const total = page.getByRole('row', { name: /^TotalError/ })
  await total.getByText('3', { exact: true }).waitFor()
  await hand.press(total.getByRole('link'), ['j', 'Enter'])
  await hand.press(
    page
      .getByRole('row', { name: /orders/ })
      .first()
      .getByRole('link'),
    ['j', 'Enter'],
  )
  await page.getByRole('heading', { name: 'Payload' }).waitFor(slow)
  await hand.press(page.getByRole('button', { name: 'Edit & replay…' }), ['e'])
  const value = dialog.getByRole('textbox', { name: 'New value' })
  const wrong = JSON.parse(await value.inputValue()) as Order
  await hand.fill(value, JSON.stringify({ ...wrong, total: 1_999 }))
  await dialog.getByText('$.total').waitFor(slow)
  await hand.fill(dialog.getByLabel('Reason'), incident)
  await hand.press(dialog.getByRole('button', { name: 'Replay the edited copy' }))
  await page.getByRole('heading', { name: 'EDIT_REPLAY shipping' }).waitFor(slow)
  await page.getByRole('listitem').filter({ hasText: '1 succeeded' }).waitFor(slow)
  await hand.press(page.getByRole('link', { name: 'Failures' }), ['g', 'f'])
  await total.getByText('2', { exact: true }).waitFor(slow)
  await hand.press(total.getByRole('button', { name: /^Triage/ }), ['j', 'n'])
  await hand.fill(dialog.getByLabel('Note'), 'given back to their customers')
  const resolved = dialog.getByRole('radio', { name: /^Resolved/ })
  await hand.choose(resolved, dialog.getByRole('radio', { name: /^Open/ }), 1)
  await hand.press(dialog.getByRole('button', { name: 'Save' }))
  await dialog.waitFor({ state: 'detached', ...slow })
  await page.getByText('1 resolved or ignored').waitFor(slow)
  return wrong.order
}

// The same pages and the same steps: a short run keeps the stricter one.
for (const [how, isKeyboard] of [
  ...(scale === 'WHOLE' ? [['with a pointer', false] as const] : []),
  ['with the keyboard alone', true] as const,
])
  describeWith('kafka', 'postgres')(`three instances, operated ${how}`, ({ kafka: place, postgres }) => {
    describeInBrowser('a deploy breaks a handler', (open) => {
      test('the cause is found, and the right records are replayed, edited and given up', {
        timeout: 300_000,
      }, async () => {
        await using kafka = createKafkaClient({ brokers: place.bootstrap })
        const database = { dialect: 'postgres', url: postgres.url } as const
        await using service = await OperatedService.create(place, kafka, database)
        await service.deploy('1.8.1')
        const fractions = draw(3).map((order, index) => ({ ...order, total: index + 0.5 }))
        await service.write([...draw(24, { carrier: 'north' }), ...draw(20), ...fractions])
        await open(service.consoleOf('shop-0'), 'failures?binding=shipping&since=PT1H', (page) =>
          findCause(new Hand(page, isKeyboard)),
        )
        await service.write(draw(10))
        await service.deploy('1.8.2')
        await service.until('/instances', ({ items }) => {
          const alive = items.filter((one: { alive: boolean }) => one.alive)
          expect(alive.map((one: { version: string }) => one.version)).toEqual(['1.8.2', '1.8.2', '1.8.2'])
        })
        let corrected = ''
        await open(service.consoleOf('shop-1'), '', async (page) => {
          const hand = new Hand(page, isKeyboard)
          await replayGroup(hand)
          corrected = await correctOne(hand)
          await hand.press(page.getByRole('link', { name: 'Audit' }), ['g', 'a'])
          for (const operation of ['PAUSE', 'RESUME', 'START_OPERATION', 'EDIT_REPLAY', 'TRIAGE'])
            await page
              .getByRole('row', { name: new RegExp(`ana ${operation} shipping`) })
              .first()
              .waitFor(slow)
        })

        // Every order was handled once, but those that were given up.
        const given = fractions.map(({ order }) => order).filter((order) => order !== corrected)
        await eventually(() => {
          const handled = service.handled().map(({ order }) => order)
          expect(handled.toSorted()).toEqual(
            service.written
              .map(({ order }) => order)
              .filter((order) => !given.includes(order))
              .toSorted(),
          )
        }, patient)
        expect(service.handled()).toContainEqual(expect.objectContaining({ order: corrected, total: 1_999 }))
      })
    })
  })
