import { Buffer } from 'node:buffer'
import { NonRetryableError } from '@waybill/core'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { scale } from '../support/scale.ts'
import { describeInBrowser } from './support/console-page.ts'
import { openShop, type Shop } from './support/open-shop.ts'

const patient = { deadlineMs: 120_000, everyMs: 200 }
const slow = { timeout: 60_000 }

interface Item {
  readonly key: string
  readonly no: number
}

const items = (key: string, count: number): readonly Item[] => Array.from({ length: count }, (_, no) => ({ key, no }))

/** Writes records one after the other. The first of a poisoned key fails. */
async function write({ kafka }: Shop, topic: string, all: readonly Item[]): Promise<void> {
  await using producer = kafka.producer('EVENT')
  for (const item of all)
    await producer.send({ topic, key: Buffer.from(item.key), value: Buffer.from(JSON.stringify(item)) })
}

const behind = (count: number): RegExp => new RegExp(`${count} records of shipping wait for their keys`)

/** Finds the dead letter that blocks a key, from the overview. Waiting are the failed record and those behind it. */
async function findLetter(page: Page, key: string, waiting: number): Promise<void> {
  const row = page.getByRole('row', { name: /^shipping/ })
  await row.getByText(String(waiting), { exact: true }).waitFor(slow)
  // Other keys continue: the lag raises no alert.
  await page.getByRole('region', { name: 'Health' }).getByText('UP').waitFor()
  await page.getByRole('link', { name: 'Failures' }).click()
  await page
    .getByRole('row', { name: /^NonRetryableError/ })
    .getByRole('link')
    .first()
    .click()
  await page.getByRole('row').filter({ hasText: key }).filter({ hasText: 'OPEN' }).getByRole('link').click()
  await page.getByText(behind(waiting)).waitFor(slow)
}

// It takes half a minute: npm run guarantees:console.
describe.runIf(scale === 'WHOLE')('a shop that keeps the order of its keys', () => {
  describeWith('kafka', 'postgres')('and blocks a key behind its dead record', ({ kafka: place, postgres }) => {
    describeInBrowser('has a poison record in two keys', (open) => {
      test('one key is released without it, one continues after its replay, and the order holds', async () => {
        const topic = await place.createTopic('orders', { partitions: 3 })
        const handled: Item[] = []
        let isFixed = false
        await using shop = await openShop({
          brokers: place.bootstrap,
          database: { dialect: 'postgres', url: postgres.url },
          topic,
          binding: {
            orderingMode: 'KEY',
            parallelism: 'KEY',
            keyOrder: { onDeadKey: 'BLOCK' },
            retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 200, maxAttempts: 1 }] },
            handler: ({ value }) => {
              const item = JSON.parse(String(value)) as Item
              if (item.no === 0 && item.key.startsWith('poison') && !isFixed)
                throw new NonRetryableError('total is no number of cents')
              handled.push(item)
            },
          },
        })
        const of = (key: string): readonly number[] => handled.filter((one) => one.key === key).map(({ no }) => no)
        const all = Array.from({ length: 42 }, (_, no) => no)

        await write(shop, topic, [...items('poison-17', 42), ...items('o-1', 42), ...items('o-2', 42)])
        await eventually(() => expect([of('o-1'), of('o-2'), of('poison-17')]).toEqual([all, all, []]), patient)
        await open(shop, '', async (page) => {
          await findLetter(page, 'poison-17', 42)
          await page.getByRole('button', { name: 'Release key…' }).click()
          const dialog = page.getByRole('dialog', { name: 'Release the key' })
          await dialog.getByText('the order of its key has a gap').waitFor()
          await dialog.getByLabel('Reason').fill('INC-312: o-17 was cancelled')
          await dialog.getByRole('button', { name: 'Release the key' }).click()
          await page.getByRole('heading', { name: 'RELEASE shipping' }).waitFor(slow)
          await page.getByText('Done', { exact: true }).waitFor(slow)
          await eventually(() => expect(of('poison-17')).toEqual(all.slice(1)), patient)
          await page.getByRole('link', { name: 'Overview' }).click()
          await page
            .getByRole('row', { name: /^shipping/ })
            .getByText('42', { exact: true })
            .waitFor({ state: 'detached', ...slow })

          await write(shop, topic, items('poison-18', 31))
          await findLetter(page, 'poison-18', 31)
          isFixed = true
          await page.getByRole('button', { name: 'Replay…', exact: true }).click()
          const replay = page.getByRole('dialog')
          await replay.getByText('1 can go').waitFor(slow)
          await replay.getByLabel('Reason').fill('INC-312 fixed')
          await replay.getByRole('button', { name: 'Replay 1' }).click()
          await page.getByRole('listitem').filter({ hasText: '1 succeeded' }).waitFor(slow)
          await eventually(() => expect(of('poison-18')).toEqual(all.slice(0, 31)), patient)

          await page.getByRole('link', { name: 'Audit' }).click()
          await page
            .getByRole('row', { name: /INC-312: o-17 was cancelled/ })
            .first()
            .waitFor(slow)
        })
      }, 300_000)
    })
  })
})
