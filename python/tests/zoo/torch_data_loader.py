"""A DataLoader with workers, with a seed and a worker that raises."""
# gpu: yes
import torch


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 7:
            raise ValueError("bad item")
        return torch.full((4,), index)


if __name__ == "__main__":
    held = torch.ones(1024, device="cuda")
    torch.manual_seed(1)
    try:
        for batch in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2):
            print(batch.shape)
    except ValueError as error:
        print(str(error).splitlines()[0])
    print(torch.initial_seed(), torch.rand(1).item())
