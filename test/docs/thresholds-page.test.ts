import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createThresholdMonitor, defaultThresholds, projectionThresholds, type Threshold } from '@waybill/connector'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const howTo = join(import.meta.dirname, '../../docs/how-to')
const page = readFileSync(join(howTo, 'watch-thresholds.md'), 'utf8')
const metricsPage = readFileSync(join(howTo, '../reference/metrics.md'), 'utf8')

type Figure = keyof typeof defaultThresholds
const figures = Object.keys(defaultThresholds) as Figure[]
const specified = figures.filter((figure) => defaultThresholds[figure] !== false)
const numberIn = (text: string): number => Number(/[\d,]+/.exec(text)?.[0].replaceAll(',', ''))

/** The cells of the row of a figure. */
function rowOf(figure: Figure): readonly string[] {
  const row = new RegExp(`^\\| \`${figure}\` \\|(.*)\\|$`, 'm').exec(page)
  return row?.[1]?.split('|').map((cell) => cell.trim()) ?? []
}

describe('S2-062 the page of the thresholds', () => {
  test.each(specified)('has the default limits of %s', (figure) => {
    const [, healthy = '', warning = '', critical = ''] = rowOf(figure)
    const { healthyBelow, warningAbove, criticalAbove, criticalAfterMs } = defaultThresholds[figure] as Threshold
    expect([numberIn(warning), numberIn(critical)]).toEqual([warningAbove, criticalAbove])
    expect(healthy).toBe(figure === 'underReplicatedPartitions' ? '0' : `< ${healthyBelow.toLocaleString('en-US')}`)
    expect(/for (\d+) minutes/.exec(critical)?.[1] ?? '0').toBe(String(criticalAfterMs / 60_000))
  })

  test.each(figures.filter((figure) => defaultThresholds[figure] === false))('has the limits of %s', (figure) => {
    const [, limit = ''] = rowOf(figure)
    const threshold = projectionThresholds[figure]
    const { warningAbove, criticalAbove } = threshold === false || threshold === undefined ? {} : threshold
    expect(limit).toBe(warningAbove === undefined ? `CRITICAL > ${criticalAbove}` : `WARNING > ${warningAbove}`)
  })
})

describe('S2-063 the runbook', () => {
  test.each(figures)('of %s is a page that names the figure, how to look and how to fix', (figure) => {
    const link = /\((runbooks\/[\w-]+\.md)\)/.exec(rowOf(figure).at(-1) ?? '')?.[1] ?? ''
    const runbook = readFileSync(join(howTo, link), 'utf8')
    expect(runbook).toContain(`\`${figure}\``)
    expect(runbook).toMatch(/^## Look$/m)
    expect(runbook).toMatch(/^## Fix$/m)
  })

  test('of a reading is the address of its page', () => {
    const { metrics, report } = createThresholdMonitor()
    metrics.gauge('eventbus.consumer.lag', { binding: 'a', cluster: 'default', partition: 0 }, 10_001)
    const [reading] = report().readings
    const path = reading?.runbook.replace('https://github.com/waybill/waybill/blob/main/docs/how-to/', '') ?? ''
    expect([reading?.status, existsSync(join(howTo, path))]).toEqual(['WARNING', true])
  })
})

describe('S2-064 the alert rules', () => {
  interface AlertRule {
    readonly alert: string
    readonly expr: string
    readonly for?: string
  }
  const yaml = /^```yaml\n(.*?)^```/ms.exec(page)?.[1] ?? ''
  const { groups } = parse(yaml) as { readonly groups: readonly { readonly rules: readonly AlertRule[] }[] }
  const rules = new Map(groups.flatMap((group) => group.rules).map((rule) => [rule.alert, rule]))
  const ruleOf = (figure: Figure, status: string): AlertRule | undefined =>
    rules.get(`${figure.charAt(0).toUpperCase()}${figure.slice(1)}${status}`)

  test.each(specified)('of %s have its default limits', (figure) => {
    const { warningAbove, criticalAbove, criticalAfterMs } = defaultThresholds[figure] as Threshold
    const limits = ['Warning', 'Critical'].map((status) => Number(ruleOf(figure, status)?.expr.split(' > ').at(-1)))
    expect(limits).toEqual([warningAbove, criticalAbove])
    if (criticalAfterMs > 0) expect(ruleOf(figure, 'Critical')?.for).toBe(`${criticalAfterMs / 60_000}m`)
  })

  test('are for metrics that exist', () => {
    const documented = [...metricsPage.matchAll(/^\| `((?:eventbus|kafka)\.[\w.]+)`/gm)].map(([, name]) =>
      name?.replaceAll('.', '_'),
    )
    const used = [...yaml.matchAll(/\b(?:eventbus|kafka)_\w+/g)].map(([name]) => name.replace(/_(?:total|bucket)$/, ''))
    expect(used.length).toBeGreaterThan(10)
    expect(used.filter((name) => !documented.includes(name))).toEqual([])
  })

  test('are no others', () => {
    expect(rules.size).toBe(2 * specified.length)
  })
})
