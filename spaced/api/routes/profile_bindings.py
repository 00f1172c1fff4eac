"""Which profiles the descriptors of portable workflows mean on this machine."""

from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.api.workflow_presenting import descriptor_of
from spaced.wire import workflow_requests as requests
from spaced.wire import workflow_shapes as shapes

ROUTES = RouteTable("profile bindings")


@ROUTES.get("/v1/profiles/bindings")
async def list_bindings(services: Services) -> shapes.ProfileBindingList:
    """List every descriptor that a person has bound."""
    return shapes.ProfileBindingList(
        bindings=tuple(
            shapes.ProfileBinding(
                agent_name=descriptor.agent_name,
                model=descriptor.model,
                mode=descriptor.mode,
                profile_id=profile_id,
            )
            for descriptor, profile_id in await services.engine.bindings.list()
        )
    )


@ROUTES.put("/v1/profiles/bindings")
async def bind_profile(
    services: Services, *, body: requests.BindingChange
) -> shapes.ProfileBindingList:
    """Let a descriptor mean a profile here, whatever it says and whoever reads the file."""
    await services.engine.bindings.bind(descriptor_of(body), body.profile_id)
    return await list_bindings(services)


@ROUTES.delete("/v1/profiles/bindings")
async def unbind_profile(services: Services, *, query: requests.Descriptor) -> None:
    """Let a descriptor mean what its own words say again."""
    await services.engine.bindings.unbind(descriptor_of(query))
