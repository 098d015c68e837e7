/** The files of the package that users copy: alert rules and dashboards. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export const templateFolder = join(import.meta.dirname, '../../template')

export const dashboardFiles = [
  'connector-dashboard.json',
  'outbox-dashboard.json',
  'projections-dashboard.json',
] as const

export interface AlertRule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export interface Panel {
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[]
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
}

/** Returns all rules, in their order. */
export function readAlertRules(): readonly AlertRule[] {
  const { groups } = parse(readFileSync(join(templateFolder, 'alert-rules.yml'), 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly AlertRule[] }[]
  }
  return groups.flatMap(({ rules }) => rules)
}

export function readDashboard(file: string): Dashboard {
  return JSON.parse(readFileSync(join(templateFolder, file), 'utf8')) as Dashboard
}

/** Returns the queries of a dashboard, with values for its variables. */
export function queriesOf({ panels, templating }: Dashboard): readonly string[] {
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  return queries.map((query) =>
    templating.list
      .reduce((text, { name }) => text.replaceAll(`$${name}`, '.*'), query)
      .replaceAll('$__rate_interval', '5m')
      .replaceAll('$__range', '1h'),
  )
}
