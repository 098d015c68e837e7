import type { ContractReport } from '../gate/check-contracts.ts'
import { contractRules } from '../rule/rules.ts'
import { entriesOf, type ReportEntry, type ReportPlaces } from './report-entry.ts'

/** Returns a report as SARIF 2.1.0, for code scanning. */
export function sarifReport(report: ContractReport, places: ReportPlaces): string {
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'waybill-contract',
            rules: Object.entries(contractRules).map(([name, { code, title, explanation, remedy }]) => ({
              id: code,
              name,
              shortDescription: { text: title },
              fullDescription: { text: explanation },
              help: { text: remedy },
            })),
          },
        },
        results: entriesOf(report, places).map(resultOf),
      },
    ],
  }
  return `${JSON.stringify(log, null, 2)}\n`
}

function resultOf({ code, level, path, line, text, waived }: ReportEntry): object {
  return {
    ruleId: code,
    level,
    message: { text },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: encodeURI(path), uriBaseId: '%SRCROOT%' },
          region: { startLine: line },
        },
      },
    ],
    ...(waived === undefined ? {} : { suppressions: [{ kind: 'external', justification: waived }] }),
  }
}
