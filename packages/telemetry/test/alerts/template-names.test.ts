import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportedMetric, metricCatalog } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { dashboardFiles, queriesOf, readAlertRules, readDashboard } from '../support/template-files.ts'

interface Known {
  readonly name: string
  readonly labels: ReadonlySet<string>
}

/** The series that exist in code, by the names of their samples. */
const known = new Map<string, Known>(
  metricCatalog.flatMap(({ name, owner, kind, labels }) => {
    const exported = exportedMetric(owner === 'OUTBOX' ? `outbox.${name}` : name, kind).name
    const all = new Set([
      ...labels.map((label) => label.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
      ...(owner === 'OUTBOX' ? ['outbox'] : []),
      ...(kind === 'histogram' ? ['le'] : []),
      // Of the scrape.
      'job',
      'instance',
    ])
    const samples = kind === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    return samples.map((suffix): [string, Known] => [`${exported}${suffix}`, { name: exported, labels: all }])
  }),
)

/** Returns the metrics that a query names, each with the labels of its matchers. */
function selectorsIn(query: string): readonly { readonly name: string; readonly labels: readonly string[] }[] {
  return [
    ...query.matchAll(/\b((?:eventbus|kafka|outbox|projection|waybill|backpressure)_[a-z_]+)(?:\{([^}]*)\})?/g),
  ].map(([, name = '', matchers = '']) => ({
    name,
    labels: [...matchers.matchAll(/([a-z_]+)\s*(?:=|!)/g)].map(([, label = '']) => label),
  }))
}

/** Returns the labels that a query groups or joins by. */
function groupsIn(query: string): readonly string[] {
  return [...query.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  )
}

function unknownIn(queries: readonly string[]): readonly string[] {
  return queries.flatMap((query) => {
    const selectors = selectorsIn(query)
    const labels = new Set(selectors.flatMap(({ name }) => [...(known.get(name)?.labels ?? [])]))
    return [
      ...(selectors.length === 0 ? [`no metric in ${query}`] : []),
      ...selectors.flatMap(({ name, labels: own }) => {
        const metric = known.get(name)
        if (metric === undefined) return [name]
        return own.filter((label) => !metric.labels.has(label)).map((label) => `${name}{${label}}`)
      }),
      ...groupsIn(query)
        .filter((label) => !labels.has(label))
        .map((label) => `by (${label}) in ${query}`),
    ]
  })
}

const rules = readAlertRules()

test('every metric and label of an alert rule exists in code', () => {
  expect(unknownIn(rules.map(({ expr }) => expr))).toEqual([])
  expect(unknownIn(['sum by (nobody) (eventbus_health{who="x"}) > kafka_lag'])).toEqual([
    'eventbus_health{who}',
    'kafka_lag',
    'by (nobody) in sum by (nobody) (eventbus_health{who="x"}) > kafka_lag',
  ])
})

describe.each(dashboardFiles)('the dashboard %s', (file) => {
  const dashboard = readDashboard(file)
  const panels = dashboard.panels.filter(({ type }) => type !== 'row')

  test('names only metrics and labels that exist in code', () => {
    expect(unknownIn(queriesOf(dashboard))).toEqual([])
    const definitions = dashboard.templating.list.flatMap(({ definition }) => definition ?? [])
    expect(unknownIn(definitions)).toEqual([])
  })

  test('explains each panel and gives it a unit', () => {
    for (const { title, description, fieldConfig } of panels)
      expect({ title, isExplained: (description?.length ?? 0) > 10, unit: fieldConfig?.defaults.unit }).toEqual({
        title,
        isExplained: true,
        unit: expect.any(String),
      })
  })

  test('has panels that do not overlap', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(Math.max(...dashboard.panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24)
  })
})

test.each(rules)(
  'S2-064 every alert rule has a severity, a summary, the consequence and a page that exists: $alert',
  ({ labels, annotations }) => {
    expect(['warning', 'critical']).toContain(labels['severity'])
    expect(annotations['summary']).toMatch(/./)
    expect(annotations['description']).toMatch(/\.$/)
    const path = annotations['runbook_url']?.replace('https://github.com/waybill/waybill/blob/main/', '') ?? ''
    const page = readFileSync(join(import.meta.dirname, '../../../..', path.replace(/#.*/, '')), 'utf8')
    const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'))
    expect(headings).toContain(/#(.*)/.exec(path)?.[1] ?? headings[0])
  },
)

test('every alert rule is fired and cleared by the recorded series', () => {
  interface RuleTest {
    readonly name: string
    readonly promql_expr_test: readonly { readonly exp_samples: readonly { readonly labels: string }[] }[]
  }
  const { tests } = parse(readFileSync(join(import.meta.dirname, 'alert-rules.test.yml'), 'utf8')) as {
    readonly tests: readonly RuleTest[]
  }
  const driven = tests.map(({ name, promql_expr_test: [fires, clears] }) => ({
    name,
    fires: fires?.exp_samples.some(({ labels }) => labels === `{alertname="${name}"}`),
    clears: clears?.exp_samples.length === 0,
  }))
  expect(driven.toSorted((one, other) => one.name.localeCompare(other.name))).toEqual(
    rules
      .map(({ alert }) => ({ name: alert, fires: true, clears: true }))
      .toSorted((one, other) => one.name.localeCompare(other.name)),
  )
})
