import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { findPromtool, runPromtool } from '../support/promtool.ts'
import { recordTrouble } from '../support/record-trouble.ts'
import { dashboardFiles, queriesOf, readAlertRules, readDashboard, templateFolder } from '../support/template-files.ts'

const found = await findPromtool()
const promtool = 'path' in found ? found.path : ''
const ruleFile = join(templateFolder, 'alert-rules.yml')

async function temporaryFile(name: string, content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-promtool-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, name), content)
  return join(folder, name)
}

describe('promtool', () => {
  // One by one, because only a test that skips itself can say why at the end of the run.
  beforeEach(({ skip }) => {
    skip('missing' in found, 'missing' in found ? `alert rules were not run: ${found.missing}` : '')
  })

  test('accepts the alert rules', async () => {
    const printed = await runPromtool(promtool, ['check', 'rules', ruleFile], templateFolder)
    expect(printed).toContain(`SUCCESS: ${readAlertRules().length} rules found`)
  })

  test.each(dashboardFiles)('accepts every query of %s', async (file) => {
    const rules = queriesOf(readDashboard(file)).map((expr, index) => ({ record: `query:${index}`, expr }))
    const content = JSON.stringify({ groups: [{ name: 'queries', rules }] })
    const path = await temporaryFile('queries.yml', content)
    expect(await runPromtool(promtool, ['check', 'rules', path], templateFolder)).toContain(
      `SUCCESS: ${rules.length} rules found`,
    )
  })

  test('S2-062 S3-023 sees every rule fire and clear on series written for it', async () => {
    expect(await runPromtool(promtool, ['test', 'rules', 'alert-rules.test.yml'], import.meta.dirname)).toContain(
      'SUCCESS',
    )
  }, 120_000)

  test('finds a rule that does not fire', async () => {
    const path = await temporaryFile(
      'wrong.test.yml',
      JSON.stringify({
        rule_files: [ruleFile],
        tests: [
          {
            input_series: [{ series: 'eventbus_health{job="shop"}', values: '0x10' }],
            promql_expr_test: [
              {
                expr: 'count(ALERTS{alertname="WaybillDown",alertstate="firing"})',
                eval_time: '5m',
                exp_samples: [{ labels: '{}', value: 1 }],
              },
            ],
          },
        ],
      }),
    )
    await expect(runPromtool(promtool, ['test', 'rules', path], templateFolder)).rejects.toThrow('exp:')
  })

  test('S2-078 sees alerts fire and clear on the series of a connector and an outbox in trouble', async () => {
    const recorded = await recordTrouble(ruleFile)
    const path = await temporaryFile('recorded.test.yml', recorded)
    expect(await runPromtool(promtool, ['test', 'rules', path], templateFolder)).toContain('SUCCESS')
  }, 120_000)
})
