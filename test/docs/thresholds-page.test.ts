import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createThresholdMonitor, defaultThresholds, projectionThresholds, type Threshold } from '@waybill/connector'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const howTo = join(import.meta.dirname, '../../docs/how-to')
const page = readFileSync(join(howTo, 'watch-thresholds.md'), 'utf8')

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
    const {
      warningAbove,
      warningAfterMs = 0,
      criticalAbove,
    } = threshold === false || threshold === undefined ? {} : threshold
    const after = warningAfterMs === 0 ? '' : ` for ${warningAfterMs / 60_000} minutes`
    expect(limit).toBe(warningAbove === undefined ? `CRITICAL > ${criticalAbove}` : `WARNING > ${warningAbove}${after}`)
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

describe('S2-064 the shipped alert rules', () => {
  interface AlertRule {
    readonly alert: string
    readonly expr: string
    readonly for?: string
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
  }
  const shipped = readFileSync(join(howTo, '../../packages/telemetry/template/alert-rules.yml'), 'utf8')
  const { groups } = parse(shipped) as { readonly groups: readonly { readonly rules: readonly AlertRule[] }[] }
  const rules = groups.flatMap((group) => group.rules)
  const ruleOf = (figure: Figure, severity: string): AlertRule | undefined =>
    rules.find(({ labels, annotations }) => annotations['figure'] === figure && labels['severity'] === severity)
  /** Limits of durations are milliseconds in code and seconds in Prometheus. */
  const limitOf = (figure: Figure, severity: string): number => {
    const { expr = '', for: after = '' } = ruleOf(figure, severity) ?? {}
    // A position that does not move for that time, and the share that is left.
    if (figure === 'stalledSeconds') return Number.parseInt(after, 10) * 60
    if (figure === 'busyRatio') return 1 - Number(/< ([\d.]+)/.exec(expr)?.[1])
    const [limit = ''] = /> ([\d.]+)/.exec(expr)?.slice(1) ?? []
    return figure.endsWith('Ms') ? Number(limit) * 1_000 : Number(limit)
  }

  test.each(specified)('of %s have its default limits', (figure) => {
    const { warningAbove, criticalAbove, criticalAfterMs } = defaultThresholds[figure] as Threshold
    expect([limitOf(figure, 'warning'), limitOf(figure, 'critical')]).toEqual([warningAbove, criticalAbove])
    if (criticalAfterMs > 0) expect(ruleOf(figure, 'critical')?.for).toBe(`${criticalAfterMs / 60_000}m`)
  })

  test.each(figures.filter((figure) => defaultThresholds[figure] === false))(
    'of %s have the limits of a read model',
    (figure) => {
      const threshold = projectionThresholds[figure]
      const { warningAbove, criticalAbove } = threshold === false || threshold === undefined ? {} : threshold
      const severity = warningAbove === undefined ? 'critical' : 'warning'
      expect(limitOf(figure, severity)).toBe(warningAbove ?? criticalAbove)
    },
  )

  test.each(rules.filter(({ annotations }) => annotations['figure'] !== undefined))(
    'of $annotations.figure have its runbook: $alert',
    ({ annotations }) => {
      const [link = ''] = /runbooks\/[\w-]+\.md/.exec(rowOf(annotations['figure'] as Figure).at(-1) ?? '') ?? []
      expect(annotations['runbook_url']).toMatch(new RegExp(`${link}$`))
    },
  )

  test('are as many as the page says, and the one that it shows', () => {
    expect(page).toContain(`${rules.length} in all`)
    const yaml = /^```yaml\n(.*?)^```/ms.exec(page)?.[1] ?? ''
    expect(rules).toContainEqual((parse(yaml) as readonly AlertRule[])[0])
  })
})
