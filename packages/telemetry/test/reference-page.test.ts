import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { identifyMetric, metricCatalog } from '@waybill/core/internal'
import { expect, test } from 'vitest'
import { telemetryPage } from './support/telemetry-page.ts'

const packages = join(import.meta.dirname, '../..')

/** The code of all packages that measure, without the catalog itself. */
const sources = readdirSync(packages)
  .filter((name) => name !== 'telemetry')
  .flatMap((name) =>
    readdirSync(join(packages, name, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.includes('metric-catalog'))
      .map((path) => readFileSync(join(packages, name, 'src', path), 'utf8')),
  )
  .join('\n')

test('the reference of telemetry is the one of the code', async () => {
  await expect(telemetryPage()).toMatchFileSnapshot('../../../docs/reference/telemetry.md')
})

test.each(metricCatalog.map(({ name }) => name))('the code measures %s, which the catalog names', (name) => {
  // The keyed outbox puts the last word behind `${prefix}.keyed.`.
  const [, word] = /^keyed\.(\w+)$/.exec(name) ?? []
  const written = word === undefined ? `['\`.]${name.replaceAll('.', String.raw`\.`)}'` : `gauge\\('${word}'`
  expect(new RegExp(written).test(sources)).toBe(true)
})

test('the catalog names every metric that the code measures', () => {
  const measured = [...sources.matchAll(/'((?:eventbus|kafka|projection|backpressure)\.[a-z]+(?:\.[a-z]+)*)'/g)].map(
    ([, name = '']) => name,
  )
  expect(measured.length).toBeGreaterThan(30)
  expect(measured.filter((name) => identifyMetric(name) === undefined)).toEqual([])
})
