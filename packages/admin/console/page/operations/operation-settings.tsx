import type { JSX } from 'preact'
import type { Schemas } from '../../api/api-types.ts'
import { operationText } from '../../text/operations.ts'
import { Inert } from '../../view/bytes-view.tsx'
import { Section } from '../../view/page-head.tsx'
import { settingText } from './operation-facts.ts'

/** Shows the selection and settings that were frozen at creation. */
export function OperationSettings({
  operation: { request },
}: {
  readonly operation: Schemas['Operation']
}): JSX.Element {
  return (
    <Section title={operationText.settings}>
      <dl class="op-settings">
        {Object.entries(request).map(([name, value]) => (
          <div key={name}>
            <dt>{operationText.settingNames[name] ?? name}</dt>
            <dd>
              <Inert>{settingText(value).slice(0, 500)}</Inert>
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}
