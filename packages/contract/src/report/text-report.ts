import type { ContractReport } from '../gate/check-contracts.ts'
import type { GateFinding } from '../gate/gate-finding.ts'
import { contractRules } from '../rule/rules.ts'
import { staleText } from './report-entry.ts'

/** Returns a report for a terminal. */
export function textReport(report: ContractReport): string {
  const { findings, staleWaivers, libraries, compared, passes } = report
  const lines = [
    ...(findings.length === 0
      ? []
      : libraries.map(({ from, to }) => `The schema library changed from ${from} to ${to}.`)),
    ...findings.flatMap(linesOf),
    ...staleWaivers.flatMap((waiver) => [
      `${waiver.severity} ${contractRules.staleWaiver.code} ${staleText(waiver)}`,
      `  ${contractRules.staleWaiver.remedy}`,
    ]),
    `${counted(compared, 'comparison')}, ${counted(findings.length + staleWaivers.length, 'finding')}: ${passes ? 'passed' : 'failed'}`,
  ]
  return `${lines.join('\n')}\n`
}

function linesOf({ severity, code, file, message, remedy, example, waived, against }: GateFinding): string[] {
  const since = against === undefined ? '' : ` against v${against}`
  return [
    `${waived === undefined ? severity : 'WAIVED'} ${code} ${file}${since}: ${message}`,
    ...(example === undefined ? [] : [`  example: ${JSON.stringify(example)}`]),
    `  ${waived ?? remedy}`,
  ]
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
