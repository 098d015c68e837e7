import './me.css'
import type { JSX } from 'preact'
import { me } from '../../state/session.ts'
import { choices, type SettingName, settings } from '../../state/settings.ts'
import { meText } from '../../text/me.ts'
import { Fact } from '../../view/fact.tsx'
import { PageHead, Section } from '../../view/page-head.tsx'
import { Glyph } from '../../view/state-chip.tsx'
import { Table } from '../../view/table.tsx'

/** Shows the operator's identity, permissions and preferences. */
export default function MePage(): JSX.Element {
  const { value } = me
  if (value === undefined) return <PageHead title={meText.title} />
  const { by, roles, permissions, scope, requireReason, editing } = value
  return (
    <>
      <PageHead title={by} />
      <dl class="facts">
        <Fact name={meText.roles}>{roles.length === 0 ? meText.noRoles : roles.join(', ')}</Fact>
        <Fact name={meText.scope}>{meText.scopes[scope] ?? scope}</Fact>
        <Fact name={meText.reasons}>{meText.requireReason[requireReason] ?? requireReason}</Fact>
        <Fact name={meText.editing}>{editing ? meText.on : meText.off}</Fact>
      </dl>
      <Section title={meText.settings} aside={<span class="muted">{meText.settingsHint}</span>}>
        <div class="settings">
          {(Object.keys(choices) as SettingName[]).map((name) => (
            <Setting key={name} name={name} />
          ))}
        </div>
      </Section>
      <Section title={meText.permissions}>
        <Table
          caption={meText.permissions}
          rows={Object.entries(permissions)}
          keyOf={([name]) => name}
          columns={[
            { id: 'name', title: meText.permission, cell: ([name]) => <code>{name}</code> },
            { id: 'granted', title: meText.granted, cell: ([, grant]) => <Grant grant={grant} /> },
            { id: 'lets', title: meText.lets, cell: ([name]) => meText.meaning[name] ?? '' },
          ]}
        />
      </Section>
    </>
  )
}

function Grant({ grant }: { readonly grant: unknown }): JSX.Element {
  if (Array.isArray(grant))
    return (
      <>
        <Glyph tone="warn">◐</Glyph> {meText.forThese(grant.join(', '))}
      </>
    )
  return grant === true ? (
    <>
      <Glyph tone="ok">●</Glyph> {meText.yes}
    </>
  ) : (
    <span class="muted">
      <Glyph tone="off">○</Glyph> {meText.no}
    </span>
  )
}

function Setting({ name }: { readonly name: SettingName }): JSX.Element {
  const setting = settings[name]
  return (
    <fieldset>
      <legend>{meText.settingNames[name]}</legend>
      {choices[name].map((choice) => (
        <label key={choice}>
          <input
            type="radio"
            name={name}
            checked={setting.value === choice}
            onChange={() => {
              setting.value = choice as never
            }}
          />
          {meText.choices[choice]}
        </label>
      ))}
    </fieldset>
  )
}
